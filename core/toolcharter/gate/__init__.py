"""The gate: the only path of a call from its arguments to its result."""
