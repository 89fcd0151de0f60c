"""Registered MCP servers, grants to use them, and requests for access. The bridge enforces the grants."""

from fastapi import APIRouter

from toolcharter_service.grants.grant_routes import GrantRoutes
from toolcharter_service.grants.request_routes import RequestRoutes
from toolcharter_service.grants.server_routes import ServerRoutes
from toolcharter_service.service import Service


def routes(service: Service) -> APIRouter:
    """Return the routes below `/v1/mcp`."""
    router = APIRouter(prefix="/v1/mcp", tags=["mcp"])
    for part in (ServerRoutes(service), GrantRoutes(service), RequestRoutes(service)):
        part.add_to(router)
    return router
