"""States on disk: who writes and reads which part of them, and where a step wants them."""
