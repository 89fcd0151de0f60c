"""Every exception of toolcharter, one class per thing a caller can do about it.

Two families. A `ConfigurationError` means nothing was built: mend the file or the installation
and start again. `Denied` and `ToolError` are raised inside a tool and never leave a toolbox:
the gate turns them into results.
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
    """One thing that is wrong with the configuration, and what to do about it.

    Printed as `place: path: what`, then the fix on a line of its own.
    """

    place: str
    """Where: `file:line:column`, or a distribution with its version."""
    path: str
    """The dotted path of the key in the file, such as `tools.git.allowed_actions.0`; may be empty."""
    what: str
    """What is wrong, as a sentence."""
    fix: str = ""
    """The likely fix or the choice there is, as sentences."""

    def __str__(self) -> str:
        head = f"{self.place}: {self.path}: {self.what}" if self.path else f"{self.place}: {self.what}"
        return f"{head}\n{self.fix}" if self.fix else head


class ConfigurationError(ToolcharterError):
    """The profile or the installation cannot be used; nothing was built.

    Its text is every fault of every file, so that one attempt shows all there is to mend.
    """

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(map(str, self.faults)))


class PluginError(ConfigurationError):
    """A plugin that the profile needs cannot be found, trusted or loaded."""


class SpecError(ToolcharterError, ValueError):
    """A `ToolSpec` contradicts itself; the plugin's author has to mend it."""


class NotGated(ToolcharterError):
    """A tool's function was called directly, past the gate."""


class NotDelivered(ToolcharterError):
    """Why a notification was lost. The text names no credentials and no path of a URL."""


class ToolboxClosed(ToolcharterError):
    """The toolbox was used after it was closed."""


class SyncCallInLoop(ToolcharterError):
    """An asynchronous tool was called synchronously inside a running event loop."""


class Denied(ToolcharterError):
    """Raised inside a tool or a guard: policy forbids what the call asks for."""

    def __init__(self, reason: str, message: str | None = None, *, hint: str | None = None) -> None:
        self.reason = str(reason)
        self.message = message
        self.hint = hint
        super().__init__(self.reason if message is None else f"{self.reason}: {message}")


class ToolError(ToolcharterError):
    """Raised inside a tool or a guard: the call is malformed or the work failed."""

    def __init__(
        self, message: str, *, reason: str = "tool_error", hint: str | None = None, retryable: bool = False
    ) -> None:
        self.reason = str(reason)
        self.message = message
        self.hint = hint
        self.retryable = retryable
        super().__init__(message)


class StoreUnavailable(Denied):
    """The store cannot be reached, read or decrypted: what needs it is denied."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__("store_unavailable", message, hint=hint)


class UnreadableRecord(StoreUnavailable):
    """What a store holds under a key is no such record: another program has written it."""


class StoreConflict(ToolError):
    """A record is not what the writer expected, or a lease was lost; nothing was written."""

    def __init__(self, message: str) -> None:
        super().__init__(message, reason="store_conflict", retryable=True)


class BusUnavailable(ToolcharterError):
    """The bus, by which processes hear of each other, cannot be reached."""

    may_have_heard: bool = True
    """Whether it may have got what it was asked for, and do it yet."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Name the nearest of *known* as a question, or nothing; upper and lower case do not count."""
    by_lower = {word.lower(): word for word in sorted(known)}
    # Of two letters one may be wrong.
    near = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.5 if len(name) == 2 else 0.6)  # noqa: PLR2004 - as above
    return f"Did you mean {by_lower[near[0]]!r}?" if near else ""
