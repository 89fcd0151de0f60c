"""What the tests of custom tools share with those of records."""

from tests.plugins.service.registry_sessions import engine, session, store

__all__ = ["engine", "session", "store"]
