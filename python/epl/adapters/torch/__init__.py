"""The adapter of PyTorch: torch traces its own autograd, its operators are lowered to JAX by torchax."""
