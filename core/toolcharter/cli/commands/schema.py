"""`toolcharter schema`: prints the JSON Schema by which editors check and complete profiles."""

from typing import TYPE_CHECKING, Literal

import click

from toolcharter._lazy import lazy
from toolcharter.cli import options
from toolcharter.cli.describe import spec_description, warn
from toolcharter.cli.output import print_json

if TYPE_CHECKING:
    from toolcharter.loader import listing, scan
    from toolcharter.profile import json_schema
else:
    listing = lazy("toolcharter.loader.listing")
    scan = lazy("toolcharter.loader.scan")
    json_schema = lazy("toolcharter.profile.json_schema")


@click.command("schema")
@click.option(
    "--ceiling",
    type=click.Choice(["workspace", "admin"]),
    is_flag=False,
    flag_value="workspace",
    help="Print that of a workspace's or an administrator's file instead; default: workspace.",
)
@options.ignored_workspace_and_events
def command(ceiling: Literal["workspace", "admin"] | None) -> None:
    """Print the JSON Schema of a profile, for editors.

    It has the policies of all installed tools and extensions: every trusted plugin is imported.
    """
    if ceiling is not None:
        print_json(json_schema.ceiling_schema(ceiling))
        return

    index = scan.find_installed()
    plugins = listing.list_plugins(index)
    warn([*index.unmatched(), *(f"{plugin.distribution}: {text}" for plugin in plugins for text in plugin.problems)])
    offer = json_schema.PolicyInfo
    tools = {name: offer(spec.policy, spec_description(spec)) for one in plugins for name, spec in one.specs.items()}
    extensions = {name: offer(spec.policy, "") for one in plugins for name, spec in one.extension_specs.items()}
    print_json(json_schema.profile_schema(tools, extensions))
