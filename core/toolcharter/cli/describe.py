"""What `tools` and `plugins` both say of a tool, and what they say of their environment."""

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any, Protocol

import click

from toolcharter._lazy import lazy
from toolcharter.errors import Fault

if TYPE_CHECKING:
    import inspect

    from toolcharter.api.tool import ToolSpec
else:
    inspect = lazy("inspect")


class Described(Protocol):
    """A tool or its spec."""

    @property
    def kind(self) -> str:
        """As in `ToolSpec`."""
        ...

    @property
    def safety(self) -> str:
        """As in `ToolSpec`."""
        ...


def facts(tool: Described, capabilities: Collection[str] | None) -> dict[str, Any]:
    """Kind, safety level and capabilities, as JSON has them."""
    return {"kind": tool.kind, "safety": tool.safety, "capabilities": ordered(capabilities)}


def described(spec: "ToolSpec[Any]") -> str:
    """The spec's own words, or what its module says of itself: a function's docstring exists only once it is built."""
    return spec.description or inspect.getdoc(inspect.getmodule(spec.build)) or ""


def close_faults(place: str, group: ExceptionGroup[Exception]) -> Iterator[Fault]:
    """What tools raised while their toolbox closed."""
    for error in group.exceptions:
        what = f"closing a tool failed: {type(error).__name__}: {error}"
        yield Fault(place, "", what, "The plugin's author has to mend what it gives to `rt.on_close`.")


def ordered(words: Collection[str] | None) -> list[str] | None:
    """*words* sorted; None stays None, for what is not declared."""
    return None if words is None else sorted(map(str, words))


def cell(value: Any) -> str:
    """*value* in a table: lists in one line, of a text its first."""
    if value is None:
        return "undeclared"
    return ", ".join(value) if isinstance(value, list) else str(value).partition("\n")[0]


def counted(number: int, noun: str) -> str:
    """`2 faults`, `1 fault`; nothing for 0."""
    return f"{number} {noun}{'s' if number > 1 else ''}" if number else ""


def warn(texts: Collection[str]) -> None:
    """Print each of *texts* on standard error, where it does not disturb what is listed."""
    for text in texts:
        click.echo(f"Warning: {text.rstrip()}", err=True)
