"""Builds the tools of a toolbox from a profile."""
