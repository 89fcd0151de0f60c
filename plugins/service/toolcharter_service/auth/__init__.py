"""Who asks, and what that one may do: tokens, passwords, JWT, OIDC, roles, tenants, sessions."""

from toolcharter_service.auth.dependency import Authenticator, RequireRole, authenticate, require
from toolcharter_service.auth.principal import INCLUDES, CallerScope, Principal, Role, dev_principal
from toolcharter_service.auth.speaking_for import SpeakingFor, speaking_for

__all__ = [
    "INCLUDES",
    "Authenticator",
    "CallerScope",
    "Principal",
    "RequireRole",
    "Role",
    "SpeakingFor",
    "authenticate",
    "dev_principal",
    "require",
    "speaking_for",
]
