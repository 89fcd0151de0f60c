"""Lints a profile: finds what can never match or never matter. For its author only; never affects a call. Pure."""
