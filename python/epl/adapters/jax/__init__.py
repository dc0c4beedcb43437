"""JAX front end: trace a step, inline its calls, legalize it to linalg, annotate its entry function."""
