"""The names of keys in Redis. The tool records and usage lists of the plain tenant have the names of artificial_mind.

Source: artificial_mind, `docs/Tools.md`: the set `tools:registry`, `tool:<id>`, `tools:{agent_id}:usage_history`.
"""

from dataclasses import dataclass

from toolcharter import Scope
from toolcharter_stores.sql.sort_keys import key_bytes, value_bytes

SERVICE = "toolcharter-service"
TOOL = "tool"
TOOL_INDEXED = "created_by"
"""The indexed field of a tool's record."""
FORM_KEY = b"toolcharter:form"
WRITES_KEY = b"toolcharter:writes"
"""The key of a counter: the writing transactions of all scopes."""
LOCK_KEY = b"toolcharter:lock"
"""The key of the lock for replacing everything, and for a backup that other writers kept disturbing."""
SCOPES_KEY = b"toolcharter:scopes"
PLAIN_KEY = b"toolcharter:plain"
"""The key that holds the plain tenant, whose tools and usage lists have artificial_mind's names without a prefix."""
Value = str | int | bool | None


@dataclass(frozen=True, slots=True)
class ScopeKeys:
    """The keys of one scope."""

    scope: Scope
    plain: str = ""
    """The tenant whose tools and usage lists have artificial_mind's names without a prefix; empty for no tenant."""

    @property
    def _own(self) -> bytes:
        return f"toolcharter:{self.scope.tenant}:{self.scope.distribution}:".encode()

    @property
    def _public(self) -> bytes | None:
        """The prefix of artificial_mind's names: empty for the plain tenant; None if this scope does not use them."""
        if self.scope.distribution != SERVICE:
            return None
        if self.scope.tenant == self.plain:
            return b""
        return f"{self.scope.tenant}:".encode() if self.scope.tenant else None

    @property
    def member(self) -> bytes:
        """The scope's member in the set of all scopes."""
        return f"{self.scope.tenant}:{self.scope.distribution}".encode()

    @property
    def facts(self) -> bytes:
        """A hash: `writes`, the number of writing transactions; `seq`, the latest change; `forgotten`."""
        return self._own + b"facts"

    @property
    def changes(self) -> bytes:
        """A sorted set: each existing or deleted record, by its latest change."""
        return self._own + b"changes"

    @property
    def deletions(self) -> bytes:
        """A sorted set: the deleted records among `changes`."""
        return self._own + b"deletions"

    @property
    def parts(self) -> bytes:
        """A set: all keys of the scope, except this key and the documents."""
        return self._own + b"parts"

    def kind(self, kind: str) -> bytes:
        """A hash: the metadata of each record of a kind."""
        return self._own + b"kind:" + kind.encode()

    def keys(self, kind: str) -> bytes:
        """A sorted set: the keys of a kind's records, in the order of their bytes."""
        return self._own + b"keys:" + kind.encode()

    def index(self, kind: str, field: str) -> bytes:
        """A sorted set: the values of an indexed field, each with the key of a record."""
        return self._own + b"index:" + kind.encode() + b":" + field.encode()

    def document(self, kind: str, key: tuple[str, ...]) -> bytes:
        """A string: the document of a record."""
        if kind == TOOL and len(key) == 1 and self._public is not None:
            return self._public + b"tool:" + _utf8(key[0])
        return self._own + b"record:" + kind.encode() + b":" + key_bytes(key)

    def registry(self, kind: str) -> bytes | None:
        """A set: a member for each record of the kind; None if the kind has no such set."""
        return self._public + b"tools:registry" if kind == TOOL and self._public is not None else None

    def tools(self) -> bytes:
        """The prefix of the keys of all tools' documents."""
        return (self._public or b"") + b"tool:"

    def digests(self, kind: str) -> bytes:
        """A hash: for each member of `registry`, the SHA-1 of the document when it was indexed."""
        return self._own + b"digests:" + kind.encode()

    def list(self, name: str) -> bytes:
        """A list: its items."""
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
    """Parse the scope from a `Names.member`."""
    tenant, _, distribution = member.decode().partition(":")
    return Scope(tenant, distribution)


def index_entry(value: Value, key: tuple[str, ...] | None = None) -> bytes:
    """Encode a value for an index, followed by the record's key: entries sort by value, then by key."""
    return value_bytes(value).replace(b"\0", b"\0\xff") + b"\0\x01" + (b"" if key is None else key_bytes(key))


def change_of(kind: str, key: tuple[str, ...]) -> bytes:
    """Encode a record's kind and key for the set of changes."""
    return kind.encode() + b"\0" + key_bytes(key)


def _utf8(text: str) -> bytes:
    return text.encode(errors="surrogatepass")
