"""The gate: the one way a call takes from its arguments to its result."""
