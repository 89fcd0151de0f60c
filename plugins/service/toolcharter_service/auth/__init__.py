"""Authentication and authorisation of requests: tokens, passwords, JWT, OIDC, roles, tenants, sessions."""

from toolcharter_service.auth.principal import INCLUDES, CallerScope, Principal, Role, dev_principal

__all__ = ["INCLUDES", "CallerScope", "Principal", "Role", "dev_principal"]
