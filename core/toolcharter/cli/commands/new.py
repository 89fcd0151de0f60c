"""`toolcharter new`: writes the skeleton of a plugin, which passes its own tests and the linters."""

import builtins
import keyword
import re
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from toolcharter._lazy import lazy
from toolcharter.cli import options

if TYPE_CHECKING:
    from toolcharter.api import words
    from toolcharter.profile import find
else:
    words = lazy("toolcharter.api.words")
    find = lazy("toolcharter.profile.find")

_SKELETON = Path(__file__).parents[1] / "skeleton"
_SUFFIX = ".in"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
# Names that the constructor uses: a function of the same name would hide them.
_TAKEN = frozenset({"build", "ctx", "policy", "rt", "subject", "workspace", *keyword.kwlist, *dir(builtins)})


@click.command("new")
@click.argument("tool")
@click.option("--directory", metavar="DIR", help="The folder to make; default: ./toolcharter-TOOL.")
@options.ignored_workspace_and_events
def command(tool: str, directory: str | None) -> None:
    """Write the skeleton of a plugin for one tool.

    It is a distribution with policy, reasons, README and tests. Install it with pip, then edit it.
    """
    _require_usable(tool)
    values = _template_values(tool)
    folder = Path(directory or values["distribution"])
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise click.UsageError(f"Cannot make the folder {str(folder)!r}: {error.strerror}.") from error
    for file in _write(folder, values):
        click.echo(file)
    click.echo(
        f"\nNext: pip install -e {_core_requirement()} -e {quote(str(folder))} pytest && pytest {quote(str(folder))}"
    )


def _core_requirement() -> str:
    """Return pip's argument for the core. The core is not published, so this is the path of a checkout."""
    root = find.checkout_root()
    return "PATH/TO/toolcharter" if root is None else quote(str(root))


def _require_usable(tool: str) -> None:
    if not _NAME.fullmatch(tool):
        raise click.UsageError(
            f"{tool!r} is no valid tool name: a letter, then up to 63 letters, digits, '_' or '-'; best in snake_case."
        )
    if tool.lower() in words.RULE_PREFIXES:
        raise click.UsageError(f"{tool!r} is a prefix of the rule language ({', '.join(sorted(words.RULE_PREFIXES))}).")


def _template_values(tool: str) -> dict[str, str]:
    plain = tool.lower().replace("-", "_")
    return {
        "tool": tool,
        "distribution": f"toolcharter-{re.sub('[-_]+', '-', plain).strip('-')}",
        "package": f"toolcharter_{plain}",
        "function": f"{plain}_" if plain in _TAKEN else plain,
        "Class": "".join(part.capitalize() for part in plain.split("_")),
    }


def _write(folder: Path, values: dict[str, str]) -> Iterator[Path]:
    """Write every file of the skeleton below *folder*, with its placeholders replaced in names and texts."""
    for template in sorted(_SKELETON.rglob(f"*{_SUFFIX}")):
        name = str(template.relative_to(_SKELETON)).removesuffix(_SUFFIX)
        file = folder / name.replace("package", values["package"], 1)
        file.parent.mkdir(exist_ok=True)
        file.write_text(re.sub(r"@(\w+)@", lambda mark: values[mark[1]], template.read_text("utf-8")), "utf-8")
        yield file
