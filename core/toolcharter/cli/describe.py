"""Describes tools and their faults for the `tools` and `plugins` commands."""

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


class ToolOrSpec(Protocol):
    """A tool or its spec."""

    @property
    def kind(self) -> str:
        """See `ToolSpec.kind`."""
        ...

    @property
    def safety(self) -> str:
        """See `ToolSpec.safety`."""
        ...


def capability_fields(tool: ToolOrSpec, capabilities: Collection[str] | None) -> dict[str, Any]:
    """Return kind, safety level and capabilities as JSON values."""
    return {"kind": tool.kind, "safety": tool.safety, "capabilities": sorted_or_none(capabilities)}


def spec_description(spec: "ToolSpec[Any]") -> str:
    """Return the spec's description or its module's docstring: the tool's function exists only after it is built."""
    return spec.description or inspect.getdoc(inspect.getmodule(spec.build)) or ""


def close_faults(place: str, group: ExceptionGroup[Exception]) -> Iterator[Fault]:
    """Yield a fault for each exception that tools raised while their toolbox closed."""
    for error in group.exceptions:
        what = f"closing a tool failed: {type(error).__name__}: {error}"
        yield Fault(place, "", what, "The plugin's author has to fix the function that it passes to `rt.on_close`.")


def sorted_or_none(words: Collection[str] | None) -> list[str] | None:
    """Sort *words*; None, for undeclared words, stays None."""
    return None if words is None else sorted(map(str, words))


def format_cell(value: Any) -> str:
    """Format *value* for a table: a list on one line, and the first line of a text."""
    if value is None:
        return "undeclared"
    return ", ".join(value) if isinstance(value, list) else str(value).partition("\n")[0]


def format_count(number: int, noun: str) -> str:
    """Return `2 faults` or `1 fault`; an empty text for 0."""
    return f"{number} {noun}{'s' if number > 1 else ''}" if number else ""


def warn(texts: Collection[str]) -> None:
    """Print each of *texts* on standard error, so that standard output holds only the listing."""
    for text in texts:
        click.echo(f"Warning: {text.rstrip()}", err=True)
