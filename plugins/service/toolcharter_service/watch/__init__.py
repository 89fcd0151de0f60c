"""Usage: records of calls, counters and usage lists, and the routes that show them."""

from toolcharter_service.watch.routes import record_usage, routes

__all__ = ["record_usage", "routes"]
