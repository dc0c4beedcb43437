"""Parameter servers: what a worker does, and what starts a server."""
