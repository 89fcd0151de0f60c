"""`toolcharter plugins`: lists the installed plugins, whether or not a profile uses them."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from toolcharter._lazy import lazy
from toolcharter.cli import options
from toolcharter.cli.describe import capability_fields, format_cell, format_count, sorted_or_none, warn
from toolcharter.cli.group import COMMANDS, stop
from toolcharter.cli.output import print_json, print_table

if TYPE_CHECKING:
    from toolcharter.api.tool import ToolSpec
    from toolcharter.cli import build_check
    from toolcharter.loader import listing, scan
    from toolcharter.loader.listing import PluginInfo
else:
    build_check = lazy("toolcharter.cli.build_check")
    listing = lazy("toolcharter.loader.listing")
    scan = lazy("toolcharter.loader.scan")


@click.command("plugins")
@click.option(
    "--check", is_flag=True, help="Also build each tool once; report problems; exit status 2 if there are any."
)
@options.json_output
@options.ignored_workspace_and_events
def command(check: bool, as_json: bool) -> None:
    """List the installed plugins: versions, tools, capabilities, reasons.

    This imports every trusted plugin, and reads no profile.
    """
    index = scan.find_installed()
    warn(index.unmatched())
    plugins = listing.list_plugins(index)
    if check:
        plugins = [build_check.check_builds(plugin, index) for plugin in plugins]
    plugins = [replace(plugin, problems=(*plugin.problems, *_hidden_commands(plugin))) for plugin in plugins]
    problems = [f"{plugin.distribution} {plugin.version}: {text}" for plugin in plugins for text in plugin.problems]
    if check and problems:
        click.echo("\n\n".join(problems), err=True)
    if as_json:
        print_json([_to_json(plugin) for plugin in plugins])
    else:
        columns = ("distribution", "version", *(["check"] if check else []), "provides", "capabilities", "reasons")
        print_table(columns, [row for plugin in plugins for row in _rows(plugin, check=check)], ("bold",))
    stop(2 if check and problems else 0)


def _hidden_commands(plugin: "PluginInfo") -> list[str]:
    return [f"the command {name!r} is toolcharter's own." for name in plugin.commands if name in COMMANDS]


def _to_json(plugin: "PluginInfo") -> dict[str, Any]:
    return {
        "distribution": plugin.distribution,
        "version": plugin.version,
        "place": plugin.metadata_dir,
        "trusted": plugin.trusted,
        "permitted": plugin.permitted,
        "tools": {name: _spec_fields(plugin.specs.get(name)) for name in plugin.tools},
        "extensions": list(plugin.extensions),
        "commands": list(plugin.commands),
        "problems": list(plugin.problems),
    }


def _spec_fields(spec: "ToolSpec[Any] | None") -> dict[str, Any] | None:
    if spec is None:
        return None
    return {**capability_fields(spec, spec.all_capabilities()), "reasons": sorted_or_none(spec.own_reasons())}


def _rows(plugin: "PluginInfo", *, check: bool) -> list[tuple[str, ...]]:
    offers = [(name, *_format_words(plugin, name)) for name in plugin.tools]
    offers += [(f"{name} (extension)", "", "") for name in plugin.extensions]
    offers += [(f"{name} (command)", "", "") for name in plugin.commands]
    verdict = [format_count(len(plugin.problems), "problem") or "ok"] if check else []
    return [(plugin.distribution, plugin.version, *verdict, *offer) for offer in offers]


def _format_words(plugin: "PluginInfo", tool: str) -> tuple[str, str]:
    known = _spec_fields(plugin.specs.get(tool))
    return (
        ("not loaded; see --check", "")
        if known is None
        else (format_cell(known["capabilities"]), format_cell(known["reasons"]))
    )
