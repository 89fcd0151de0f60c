"""Decides which calls may run: pure functions of a compiled profile and a call. No I/O, no clock, no state."""
