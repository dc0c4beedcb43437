"""Training steps as people write them: each file a model for one device, its scopes, its data, in small.

A file defines `build() -> Model`. test/python/test_models.py trains each on several devices beside `jax.jit`.
"""
