"""What the tests of records share with those of custom tools."""

from tests.plugins.service.registry_sessions import engine, session, store

__all__ = ["engine", "session", "store"]
