"""Who asks, and what that one may do: `Principal`, `Role`, and the table of the roles. Values only."""

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
"""A token's or a user's name: anything that can be printed in one line."""


class Role(StrEnum):
    """What a principal may do; one has as many as it needs. `INCLUDES` says which hold others."""

    VIEWER = "viewer"
    """Looks on: tools, calls, events, usage, metrics, who waits for an approval. Changes nothing."""
    CALLER = "caller"
    """An agent: lists the tools it may call, decides, explains and calls, registers tools as `agent`, and deletes those."""
    APPROVER = "approver"
    """Answers approvals that others asked for."""
    OPERATOR = "operator"
    """Runs the place: discovery, tools of the system, custom tools, MCP servers, workers."""
    ADMIN = "admin"
    """Everything, and alone: tokens, users, sessions, secrets, grants, and the review of access requests."""


class CallerScope(StrEnum):
    """What `X-Caller-Scopes` and a token's scopes may leave: whoever names scopes has these alone."""

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
"""Which roles each role holds. An agent does not look on: it would see what other agents do."""

Means = Literal["token", "jwt", "session", "dev"]


@dataclass(frozen=True, slots=True)
class Principal:
    """Who a request comes from, as its credentials say."""

    tenant: str
    name: str
    """Of the token, the user or the subject; events and records name it."""
    roles: frozenset[Role]
    agents: frozenset[str] | None = None
    """For whom it may speak; None for any agent of the tenant."""
    scopes: frozenset[str] | None = None
    """None for all that the roles permit."""
    token_id: str = ""
    """Names the token or the session without being it; safe to log."""
    projects: frozenset[str] | None = None
    """Which `X-Project-ID` it may name; None for any."""
    means: Means = "token"
    issuer: str = ""
    """Who vouches for the name, where several do."""
    user: str | None = None
    """The person: who has signed in, or whom the token was made for. Grants to users are held against it."""
    made_by: frozenset[str] = frozenset()
    """Names, users and identifiers of whoever made its credentials, and of those who made theirs."""
    maker: str = ""
    """The person who made its credentials, if they are no mere caller's that is bound to agents."""

    @property
    def person(self) -> str:
        """Who acts by it: the person whom its credentials name, else who made them, else itself."""
        return self.user or self.maker or self.name

    def asked_itself(self, names: Iterable[str], person: str) -> bool:
        """Whether who asked is the same, the same person, or who made its credentials: then it may not answer.

        Args:
            names: Name, user and identifier of who asked; some may be empty.
            person: Who acted by these credentials; empty where an older version has not noted it.
        """
        return self.person == person or not self.lineage.isdisjoint(names)

    @property
    def lineage(self) -> frozenset[str]:
        """Itself and all who made its credentials, who could act by them: it answers nothing that one of these has asked."""
        return (self.made_by | {self.name, self.user or "", self.token_id}) - {""}

    @property
    def key(self) -> str:
        """Distinguishes it from others of its tenant: a token may be called like a person."""
        return f"{self.means}:{self.name}"

    @property
    def owner(self) -> str:
        """Whose keys, sessions and stored calls these are: two tokens, or two issuers, may have given the same name."""
        if self.means == "token":
            return f"{self.key}#{self.token_id}" if self.token_id else self.key
        return f"{self.key}#{sha256(self.issuer.encode()).hexdigest()[:16]}" if self.issuer else self.key

    def has(self, role: Role) -> bool:
        """Whether one of the roles holds *role*."""
        return any(role in INCLUDES[own] for own in self.roles)

    def narrowed(self, scopes: frozenset[str]) -> "Principal":
        """The same with no other scopes than these."""
        return replace(self, scopes=scopes if self.scopes is None else self.scopes & scopes)


def dev_principal(tenant: str) -> Principal:
    """Whoever asks `serve --dev`, which listens on loopback alone."""
    return Principal(tenant, "dev", frozenset(Role), means="dev")
