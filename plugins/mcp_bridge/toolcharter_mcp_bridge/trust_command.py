"""`toolcharter mcp trust`: shows all new and changed tools of a profile's servers at once, for approval."""

import click

from toolcharter import open_live
from toolcharter_mcp_bridge.open_bridges import collect_bridges
from toolcharter_mcp_bridge.trust import describe_change


@click.command("mcp.trust")
@click.option("--profile", "-p", required=True, metavar="PROFILE", help="A profile's name or path.")
@click.option(
    "--workspace", "-w", default=".", metavar="FOLDER", help="The folder that tools may touch; default: here."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
def trust(profile: str, workspace: str, yes: bool) -> None:  # noqa: FBT001 - an option
    """Start the MCP servers of a profile, show their new and changed tools, and agree to them."""
    with collect_bridges() as bridges, open_live(profile, workspace=workspace, events=None) as live:
        live.settle()
        for line in live.reload().notes:
            click.echo(f"note: {line}", err=True)
        count = 0
        for bridge in bridges:
            store = bridge.trust
            if store is None:
                continue
            for server, definitions in bridge.definitions().items():
                known = store.approved(server)
                fresh = [one for one in definitions if store.state_of(server, one) != "approved"]
                for one in fresh:
                    click.echo(f"{server}: {one.name} {'has changed' if one.name in known else 'is new'}")
                    click.echo("  " + describe_change(known.get(one.name), one).replace("\n", "\n  "))
                if fresh and (yes or click.confirm(f"Agree to these {len(fresh)} tools of {server!r}?")):
                    if not store.approve(server, *fresh):
                        raise click.ClickException(
                            "The approval could not be saved: is the state folder below the workspace?"
                        )
                    count += len(fresh)
        click.echo(f"Agreed to {count} tools.")
