"""Parses YAML files into one `Profile`, with the place of each value and all faults at once. Imports no plugin."""
