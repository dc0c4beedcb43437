"""Front ends: each turns a step of its framework into the MLIR text of docs/design.md, 4.1."""
