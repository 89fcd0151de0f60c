"""The exceptions of toolcharter, one class per way in which a caller can react.

There are two families. A `ConfigurationError` means that nothing was built: fix the file or the
installation and start again. `Denied` and `ToolError` are raised inside a tool and never leave a
toolbox: the gate turns them into results.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolcharter._lazy import lazy

if TYPE_CHECKING:
    import difflib
else:
    difflib = lazy("difflib")


class ToolcharterError(Exception):
    """The base of everything toolcharter raises on purpose."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of the configuration, and what to do about it.

    Printed as `place: path: what`, followed by the fix on a line of its own.
    """

    place: str
    """Where the fault is: `file:line:column`, or a distribution with its version."""
    path: str
    """The dotted path of the key in the file, such as `tools.git.allowed_actions.0`; may be empty."""
    what: str
    """What is wrong, as a sentence."""
    fix: str = ""
    """The likely fix, or the possible values, as sentences."""

    def __str__(self) -> str:
        head = f"{self.place}: {self.path}: {self.what}" if self.path else f"{self.place}: {self.what}"
        return f"{head}\n{self.fix}" if self.fix else head


class ConfigurationError(ToolcharterError):
    """The profile or the installation cannot be used; nothing was built.

    Its text lists every fault of every file, so that one attempt shows everything that has to be fixed.
    """

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(map(str, self.faults)))


class PluginError(ConfigurationError):
    """A plugin that the profile needs cannot be found, trusted or loaded."""


class SpecError(ToolcharterError, ValueError):
    """A spec that contradicts itself, such as a `ToolSpec`; the plugin's author has to fix it."""


class NotGated(ToolcharterError):
    """A tool's function was called directly, bypassing the gate."""


class NotDelivered(ToolcharterError):
    """A notification or message could not be delivered. The text says why; it has no credentials and no URL's path."""


class ToolboxClosed(ToolcharterError):
    """The toolbox was used after it was closed."""


class SyncCallInLoop(ToolcharterError):
    """An asynchronous tool was called synchronously inside a running event loop."""


class Denied(ToolcharterError):
    """Raised inside a tool or a guard when policy forbids what the call asks for."""

    def __init__(self, reason: str, message: str | None = None, *, hint: str | None = None) -> None:
        self.reason = str(reason)
        self.message = message
        self.hint = hint
        super().__init__(self.reason if message is None else f"{self.reason}: {message}")


class ToolError(ToolcharterError):
    """Raised inside a tool or a guard when the call is malformed or the work failed."""

    def __init__(
        self, message: str, *, reason: str = "tool_error", hint: str | None = None, retryable: bool = False
    ) -> None:
        self.reason = str(reason)
        self.message = message
        self.hint = hint
        self.retryable = retryable
        super().__init__(message)


class StoreUnavailable(Denied):
    """The store cannot be reached, read or decrypted, so a call that needs it is denied."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__("store_unavailable", message, hint=hint)


class UnreadableRecord(StoreUnavailable):
    """The store holds something else than a record of the expected kind under a key: another program has written it."""


class StoreConflict(ToolError):
    """A record has another version than the writer expected, or a lease was lost; nothing was written."""

    def __init__(self, message: str) -> None:
        super().__init__(message, reason="store_conflict", retryable=True)


class BusUnavailable(ToolcharterError):
    """The bus, which connects processes with each other, cannot be reached."""

    may_have_heard: bool = True
    """Whether the bus may have received the request, and may still carry it out."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `Did you mean 'git'?` with the name in *known* nearest to *name*, or an empty text. Ignores case."""
    by_lower = {word.lower(): word for word in sorted(known)}
    # In a name of two letters, one letter may be wrong.
    near = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.5 if len(name) == 2 else 0.6)  # noqa: PLR2004 - as above
    return f"Did you mean {by_lower[near[0]]!r}?" if near else ""
