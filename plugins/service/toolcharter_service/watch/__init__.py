"""Usage: records of calls, counters and usage lists, and the routes that show them."""

from toolcharter_service.watch.routes import keep_usage, routes

__all__ = ["keep_usage", "routes"]
