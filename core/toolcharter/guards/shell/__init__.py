"""Analyses what a shell line would run. A line that is not understood never runs; no rule covers an unknown command."""
