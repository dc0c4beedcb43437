"""JAX front end: trace a step, flatten calls and loops, legalize to linalg, annotate the entry function."""
