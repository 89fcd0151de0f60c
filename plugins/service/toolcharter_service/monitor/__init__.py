"""The monitor: pages for those who operate, approve and look on. It is a client of the service's own API and can do no more."""

from toolcharter_service.monitor.routes import routes

__all__ = ["routes"]
