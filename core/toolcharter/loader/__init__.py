"""Finds, trusts and loads plugins: `scan` and `origin` import nothing of them, `load` does."""
