"""Calls over HTTP: who calls, the call itself, keys that let none run twice, and calls that are stored."""
