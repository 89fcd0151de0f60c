"""`toolcharter reasons`: why calls are denied or fail, and whether to try again."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from toolcharter.cli import options
from toolcharter.cli.output import print_json, print_table
from toolcharter.errors import did_you_mean

if TYPE_CHECKING:
    from toolcharter.loader.listing import PluginInfo

_TABLE_ROW = re.compile(r"^\| *`([a-z][a-z0-9_]*)` *\|(.*)\|[ \t]*$", re.MULTILINE)


class _Row(NamedTuple):
    source: str
    reason: str
    outcome: str
    retry: bool | None
    meaning: str


@click.command("reasons")
@click.argument("tool", required=False)
@options.json_output
@options.place_unused
def command(tool: str | None, as_json: bool) -> None:  # noqa: FBT001 - click passes by name
    """Explain the reasons for which calls are denied or fail.

    All of them, or those of TOOL alone. A tool's own are explained by the table in its README.
    """
    own = list(_of_tools())
    if tool is None:
        rows = [*_of_core(), *own]
    else:
        rows = [row for row in own if row.source.lower() == tool.lower()]
        if not rows:
            near = did_you_mean(tool, {row.source for row in own})
            raise click.UsageError(f"No installed tool named {tool!r} declares reasons. {near}".rstrip())
    if as_json:
        print_json([row._asdict() for row in rows])
        return
    shown = [(row.reason, row.source, row.outcome, _yes(row.retry), row.meaning) for row in rows]
    print_table(("reason", "from", "outcome", "retry", "meaning"), shown, ("bold",))


def _of_core() -> Iterator[_Row]:
    from toolcharter.spec.reasons import CORE_REASONS, GUARD_REASONS  # noqa: PLC0415 - `--help` does without it

    for source, table in (("core", CORE_REASONS), ("guards", GUARD_REASONS)):
        for reason, info in table.items():
            yield _Row(source, str(reason), info.outcome, info.retryable, info.meaning)


def _of_tools() -> Iterator[_Row]:
    from toolcharter.loader.listing import list_plugins  # noqa: PLC0415 - `--help` does without it

    for plugin in list_plugins(check=True):
        documented = _documented(plugin)
        for name, spec in sorted(plugin.specs.items()):
            for reason in map(str, spec.reasons or ()):
                yield _Row(name, reason, *documented.get(reason, ("", None, "")))


def _documented(plugin: "PluginInfo") -> dict[str, tuple[str, bool | None, str]]:
    """What the tables of a plugin's README say of its reasons: outcome, retry, meaning.

    The README travels in the distribution's metadata, so this is what the author documents, not a
    second list that could differ. Source: PyPA specification "Core metadata", `Description`.
    """
    try:
        text = Path(plugin.metadata_dir, "METADATA").read_text("utf-8", "replace")
    except OSError:
        return {}
    return {match[1]: _meaning([cell.strip() for cell in match[2].split("|")]) for match in _TABLE_ROW.finditer(text)}


def _meaning(cells: list[str]) -> tuple[str, bool | None, str]:
    outcome = next((cell for cell in cells if cell in {"denied", "error"}), "")
    retry: Any = next((cell == "yes" for cell in cells if cell in {"yes", "no"}), None)
    return outcome, retry, cells[-1]


def _yes(retry: bool | None) -> str:  # noqa: FBT001 - a cell of the table
    return "" if retry is None else "yes" if retry else "no"
