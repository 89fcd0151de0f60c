"""`toolcharter tools`: lists the tools of a profile, or all that are installed."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from toolcharter._lazy import lazy
from toolcharter.cli import options
from toolcharter.cli.describe import capability_fields, format_cell, spec_description, warn
from toolcharter.cli.output import escape_controls, print_json, print_table
from toolcharter.cli.session import toolbox_session

if TYPE_CHECKING:
    from toolcharter import hosts
    from toolcharter.api.call import Caller
    from toolcharter.gate.toolbox import Tool
    from toolcharter.hosts.formats import Format
    from toolcharter.loader import listing, scan
else:
    hosts = lazy("toolcharter.hosts")
    listing = lazy("toolcharter.loader.listing")
    scan = lazy("toolcharter.loader.scan")


@click.command("tools")
@click.option("--profile", "-p", metavar="PROFILE", help="A profile's name or path; without it, all installed tools.")
@options.json_output
@click.option(
    "--format",
    "form",
    type=click.Choice(["openai", "openai-chat", "anthropic", "mcp", "json"]),
    help="With --profile: the tools as JSON for a model's interface.",
)
@options.caller
@options.workspace_and_events
def command(
    profile: str | None,
    as_json: bool,
    form: "Format | None",
    caller: "Caller | None",
    workspace: str,
    events: Sequence[str],
) -> None:
    """List the tools of a profile, or all that are installed.

    With --profile, also the files that the profile was read from. With --profile and --json, each tool with the JSON
    Schema of its arguments, as a model is shown it. --format prints the list of tools that the interface of OpenAI
    (Responses, or `openai-chat` for Chat Completions), of Anthropic or an MCP client takes.
    """
    if form is not None:
        if profile is None:
            raise click.UsageError("--format needs --profile.")
        with toolbox_session(profile, workspace, events, caller) as toolbox:
            print_json(hosts.formatted(map(hosts.described, toolbox.values()), form))
        return
    if profile is None:
        rows = list(_installed_rows())
        files = list[str]()
    else:
        with toolbox_session(profile, workspace, events, caller) as toolbox:
            files = list(map(str, toolbox.files))
            rows = [{**_tool_row(tool), "profile_files": files} for tool in toolbox.values()]
    if as_json:
        print_json(rows)
        return
    columns = ("name", "safety", "capabilities", "description") if profile else (*_INSTALLED, "description")
    print_table(columns, [[format_cell(row[column]) for column in columns] for row in rows], ("bold",))
    if files:
        click.echo(f"Profile files: {escape_controls(', '.join(files))}")


_INSTALLED = ("name", "distribution", "version", "safety", "capabilities")


def _tool_row(tool: "Tool") -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        **capability_fields(tool, tool.capabilities),
        "parameters": tool.parameters,
        "output_schema": tool.output_schema,
    }


def _installed_rows() -> Iterator[dict[str, Any]]:
    index = scan.find_installed()
    warn(index.unmatched())
    for plugin in listing.list_plugins(index):
        for name, spec in sorted(plugin.specs.items()):
            yield {
                "name": name,
                "description": spec_description(spec),
                **capability_fields(spec, spec.all_capabilities()),
                "distribution": plugin.distribution,
                "version": plugin.version,
            }
