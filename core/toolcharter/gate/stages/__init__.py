"""The stages of a call, in the order of their numbers."""
