"""Finds, trusts and loads plugins. `scan` and `origin` import no plugin; only `load` does."""
