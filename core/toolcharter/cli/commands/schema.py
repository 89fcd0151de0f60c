"""`toolcharter schema`: what editors check and complete profiles with."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import click

from toolcharter._lazy import lazy
from toolcharter.cli import options
from toolcharter.cli.describe import described, warn
from toolcharter.cli.output import print_json

if TYPE_CHECKING:
    from toolcharter.loader import listing, scan
    from toolcharter.loader.listing import PluginInfo
    from toolcharter.profile import json_schema
    from toolcharter.profile.json_schema import Offer
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
    help="That of the workspace's or the administrator's file instead; default: the workspace's.",
)
@options.place_unused
def command(ceiling: Literal["workspace", "admin"] | None) -> None:
    """Print the JSON Schema of a profile, for editors.

    With the policies of all that is installed: every trusted plugin is imported for it.
    """
    if ceiling is not None:
        print_json(json_schema.ceiling_schema(ceiling))
        return

    index = scan.installed()
    plugins = listing.list_plugins(index)
    warn([*index.unmatched(), *(f"{plugin.distribution}: {text}" for plugin in plugins for text in plugin.problems)])
    tools = dict(offer for plugin in plugins for offer in _tools(plugin))
    print_json(json_schema.profile_schema(tools, dict(offer for plugin in plugins for offer in _extensions(plugin))))


def _tools(plugin: "PluginInfo") -> Iterator[tuple[str, "Offer"]]:

    for name, spec in plugin.specs.items():
        yield name, json_schema.Offer(spec.policy, described(spec))


def _extensions(plugin: "PluginInfo") -> Iterator[tuple[str, "Offer"]]:

    for name, spec in plugin.extension_specs.items():
        yield name, json_schema.Offer(spec.policy, "")
