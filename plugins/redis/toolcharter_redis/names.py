"""The names of keys. Records of tools and usage lists of one tenant have the names that artificial_mind gives them.

Source: artificial_mind, `docs/Tools.md`: the set `tools:registry`, `tool:<id>`, `tools:{agent_id}:usage_history`.
"""

from dataclasses import dataclass

from toolcharter import Scope
from toolcharter_stores.sql.ordered import key_bytes, value_bytes

SERVICE = "toolcharter-service"
TOOL = "tool"
TOOL_INDEXED = "created_by"
"""The field of a tool's record that is indexed."""
FORM_KEY = b"toolcharter:form"
WRITES_KEY = b"toolcharter:writes"
"""Counts the transactions of all scopes that wrote."""
LOCK_KEY = b"toolcharter:lock"
"""Held while an archive is made that others would change without end, and while all is replaced."""
SCOPES_KEY = b"toolcharter:scopes"
PLAIN_KEY = b"toolcharter:plain"
"""Holds the tenant whose tools and usage lists have the names of artificial_mind as they are."""
Value = str | int | bool | None


@dataclass(frozen=True, slots=True)
class Names:
    """The keys of one scope."""

    scope: Scope
    plain: str = ""
    """The tenant whose tools and usage lists have the names of artificial_mind as they are."""

    @property
    def _own(self) -> bytes:
        return f"toolcharter:{self.scope.tenant}:{self.scope.distribution}:".encode()

    @property
    def _public(self) -> bytes | None:
        """What stands before the names of artificial_mind: nothing for one tenant; None where they are not used."""
        if self.scope.distribution != SERVICE:
            return None
        if self.scope.tenant == self.plain:
            return b""
        return f"{self.scope.tenant}:".encode() if self.scope.tenant else None

    @property
    def member(self) -> bytes:
        """The scope itself, in the set of all."""
        return f"{self.scope.tenant}:{self.scope.distribution}".encode()

    @property
    def facts(self) -> bytes:
        """A hash: `writes`, the transactions that wrote; `seq`, the latest change; `forgotten`."""
        return self._own + b"facts"

    @property
    def changes(self) -> bytes:
        """A sorted set: each record that is there or was deleted, by its latest change."""
        return self._own + b"changes"

    @property
    def deletions(self) -> bytes:
        """A sorted set: those of `changes` that were deleted."""
        return self._own + b"deletions"

    @property
    def parts(self) -> bytes:
        """A set: all keys of the scope but this one and documents."""
        return self._own + b"parts"

    def kind(self, kind: str) -> bytes:
        """A hash of a kind: version, change and indexed values of each record."""
        return self._own + b"kind:" + kind.encode()

    def keys(self, kind: str) -> bytes:
        """A sorted set of a kind's keys, which are in the order of their bytes."""
        return self._own + b"keys:" + kind.encode()

    def index(self, kind: str, field: str) -> bytes:
        """A sorted set of an indexed field: its values, each with the key of a record."""
        return self._own + b"index:" + kind.encode() + b":" + field.encode()

    def document(self, kind: str, key: tuple[str, ...]) -> bytes:
        """The document of a record."""
        if kind == TOOL and len(key) == 1 and self._public is not None:
            return self._public + b"tool:" + _utf8(key[0])
        return self._own + b"record:" + kind.encode() + b":" + key_bytes(key)

    def registry(self, kind: str) -> bytes | None:
        """The set that has a member for each record of a kind, if there is one."""
        return self._public + b"tools:registry" if kind == TOOL and self._public is not None else None

    def tools(self) -> bytes:
        """What the name of each tool's document begins with."""
        return (self._public or b"") + b"tool:"

    def digests(self, kind: str) -> bytes:
        """A hash: by member of `registry`, the SHA-1 of the document as it was when it was indexed."""
        return self._own + b"digests:" + kind.encode()

    def list(self, name: str) -> bytes:
        """A list."""
        return self._own + b"list:" + _utf8(name) if self._public is None else self._public + _utf8(name)

    def lists(self) -> bytes:
        """A set: the names of all lists."""
        return self._own + b"lists"

    def lease(self, name: str) -> bytes:
        """A hash: holder, number and end of a lease."""
        return self._own + b"lease:" + _utf8(name)

    def leases(self) -> bytes:
        """A set: the names of all leases."""
        return self._own + b"leases"


def scope_of(member: bytes) -> Scope:
    """The scope that `Names.member` stands for."""
    tenant, _, distribution = member.decode().partition(":")
    return Scope(tenant, distribution)


def in_index(value: Value, key: tuple[str, ...] | None = None) -> bytes:
    """A value in an index, with the key behind it: sorted by value, then by key."""
    return value_bytes(value).replace(b"\0", b"\0\xff") + b"\0\x01" + (b"" if key is None else key_bytes(key))


def change_of(kind: str, key: tuple[str, ...]) -> bytes:
    """A record in the set of changes."""
    return kind.encode() + b"\0" + key_bytes(key)


def _utf8(text: str) -> bytes:
    return text.encode(errors="surrogatepass")
