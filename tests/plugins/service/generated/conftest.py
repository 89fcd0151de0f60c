"""What the tests of generated tools share with those of the registry."""

from tests.plugins.service.registry_sessions import engine, session, store

__all__ = ["engine", "session", "store"]
