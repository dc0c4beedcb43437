"""Training steps from the literature, small and complete, each run on every layout of `layouts.py`.

`test/models` is what EPL is developed with; of these it has seen nothing. Each file makes a `Model` whose
parts stand in the scopes that it is given: a body and a head, which may be one and the same.
"""
