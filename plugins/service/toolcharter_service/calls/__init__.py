"""Calls over HTTP: their callers, running calls, idempotency keys, and stored calls."""
