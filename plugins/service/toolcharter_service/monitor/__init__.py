"""The monitor: web pages for operators, approvers and viewers. It only uses the service's API, as the page's user."""

from toolcharter_service.monitor.routes import routes

__all__ = ["routes"]
