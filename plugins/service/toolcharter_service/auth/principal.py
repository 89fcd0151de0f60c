"""The sender of a request and its permissions: `Principal`, `Role`, and which roles include others. Values only."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import sha256
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import Field

Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
"""A tenant's or an agent's name."""
PrincipalName = Annotated[str, Field(pattern=r"^[^\s\x00-\x1f\x7f]([^\x00-\x1f\x7f]{0,126}[^\s\x00-\x1f\x7f])?$")]
"""A token's or a user's name: any printable text of one line."""


class Role(StrEnum):
    """A set of permissions. A principal has one or more roles; `INCLUDES` says which roles include others."""

    VIEWER = "viewer"
    """Reads tools, calls, events, usage, metrics and pending approvals. Changes nothing."""
    CALLER = "caller"
    """An agent: lists its tools; decides, explains and makes calls; registers tools as `agent`, and deletes those."""
    APPROVER = "approver"
    """Answers the questions of other principals' calls."""
    OPERATOR = "operator"
    """Runs the service: discovery, tools of the system, custom tools, MCP servers, workers."""
    ADMIN = "admin"
    """Everything. Only this role manages tokens, users, sessions, secrets and grants, and reviews access requests."""


class CallerScope(StrEnum):
    """The scopes that `X-Caller-Scopes` or a token can name. A principal that names scopes has only these."""

    READ_REGISTRY = "read_registry"
    INVOKE_TOOL = "invoke_tool"


INCLUDES = MappingProxyType(
    {
        Role.VIEWER: frozenset({Role.VIEWER}),
        Role.CALLER: frozenset({Role.CALLER}),
        Role.APPROVER: frozenset({Role.APPROVER, Role.VIEWER}),
        Role.OPERATOR: frozenset({Role.OPERATOR, Role.VIEWER}),
        Role.ADMIN: frozenset(Role),
    }
)
"""The roles that each role includes. A caller is no viewer: an agent would see the calls of other agents."""

Means = Literal["token", "jwt", "session", "dev"]


@dataclass(frozen=True, slots=True)
class Principal:
    """The authenticated sender of a request."""

    tenant: str
    name: str
    """The name of the token, the user or the subject, for events and records."""
    roles: frozenset[Role]
    agents: frozenset[str] | None = None
    """The agents that it may speak for; None for any agent of the tenant."""
    scopes: frozenset[str] | None = None
    """The scopes that it is narrowed to; None for everything that its roles permit."""
    token_id: str = ""
    """The public id of the token or session; safe to log."""
    projects: frozenset[str] | None = None
    """The values of `X-Project-ID` that it may send; None for any."""
    means: Means = "token"
    issuer: str = ""
    """The issuer of a JSON Web Token; empty for other credentials."""
    user: str | None = None
    """The person who has signed in, or whom the token was made for. Grants to users are compared with it."""
    made_by: frozenset[str] = frozenset()
    """The names, users and ids of the principal that made its credentials, and of all earlier makers."""
    maker: str = ""
    """The person who made its token; empty without a token, or if it only views and calls for listed agents."""

    @property
    def person(self) -> str:
        """The person acting through the credentials: the user they name, else their maker, else the principal."""
        return self.user or self.maker or self.name

    def is_requester(self, names: Iterable[str], person: str) -> bool:
        """Whether the asking principal is this one, the same person, or a maker of its credentials.

        If so, this principal may not answer the question.

        Args:
            names: The name, user and token id of the asking principal. Some may be empty.
            person: The `person` of the asking principal; empty in a record of an older version.
        """
        return self.person == person or not self.lineage.isdisjoint(names)

    @property
    def lineage(self) -> frozenset[str]:
        """The names and ids of the principal and all makers of its credentials. It may not answer their questions."""
        return (self.made_by | {self.name, self.user or "", self.token_id}) - {""}

    @property
    def key(self) -> str:
        """The name with the kind of credentials: a token may have the same name as a person."""
        return f"{self.means}:{self.name}"

    @property
    def owner(self) -> str:
        """The unique owner of keys, sessions and stored calls: two tokens or issuers may use the same name."""
        if self.means == "token":
            return f"{self.key}#{self.token_id}" if self.token_id else self.key
        return f"{self.key}#{sha256(self.issuer.encode()).hexdigest()[:16]}" if self.issuer else self.key

    def has(self, role: Role) -> bool:
        """Whether one of its roles is or includes *role*."""
        return any(role in INCLUDES[own] for own in self.roles)

    def narrowed(self, scopes: frozenset[str]) -> "Principal":
        """Return the principal with at most these *scopes*."""
        return replace(self, scopes=scopes if self.scopes is None else self.scopes & scopes)


def dev_principal(tenant: str) -> Principal:
    """Return the principal of every request to `serve --dev`, which listens only on loopback."""
    return Principal(tenant, "dev", frozenset(Role), means="dev")
