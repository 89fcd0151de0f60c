"""`toolcharter mcp`: options, the token, and which transport serves."""

import os
from collections.abc import Sequence
from pathlib import Path

import anyio
import click
from mcp.server.stdio import stdio_server

from toolcharter import Caller
from toolcharter.hosts import open_host
from toolcharter_mcp.http import Address, parse_address, serve
from toolcharter_mcp.server import ProfileServer

TOKEN_VARIABLE = "TOOLCHARTER_MCP_TOKEN"  # noqa: S105 - the variable's name
MIN_TOKEN_CHARS = 16
"""The shortest accepted token, in characters: a shorter token could be guessed."""


@click.command("mcp")
@click.option("--profile", "-p", required=True, metavar="PROFILE", help="A profile's name or path.")
@click.option(
    "--workspace", "-w", default=".", metavar="FOLDER", help="The folder that tools may touch; default: here."
)
@click.option("--events", multiple=True, metavar="URL", help="Where events go; repeatable. Default: standard error.")
@click.option("--agent", metavar="NAME", help="The name of the calling agent, for rules and events.")
@click.option("--http", "address", metavar="[HOST:]PORT", help="Serve streamable HTTP there instead of stdio.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    help=f"The file with the token for HTTP; default: ${TOKEN_VARIABLE}.",
)
@click.option("--host-name", "names", multiple=True, metavar="NAME", help="A name that HTTP clients use; repeatable.")
def command(
    profile: str,
    workspace: str,
    events: Sequence[str],
    agent: str | None,
    address: str | None,
    token_file: Path | None,
    names: Sequence[str],
) -> None:
    """Serve the tools of a profile over MCP.

    The server uses standard input and output, for the client that starts it. With --http, it serves clients on the
    network, which have to send `Authorization: Bearer TOKEN`. If a call needs a person, the client asks its user.
    """
    endpoint = None if address is None else _parse_endpoint(address, token_file, names)
    with open_host(profile, workspace=workspace, events=events, caller=Caller(agent=agent)) as host:
        server = ProfileServer(host)
        if endpoint is None:
            anyio.run(_serve_stdio, server)
        else:
            serve(server, endpoint)


async def _serve_stdio(server: ProfileServer) -> None:
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing)


def _parse_endpoint(address: str, token_file: Path | None, names: Sequence[str]) -> Address:
    """Parse where to serve, and read the token that clients have to send.

    Raises:
        UsageError: The address is malformed, or there is no usable token.
    """
    try:
        token = os.environ.get(TOKEN_VARIABLE, "") if token_file is None else token_file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{token_file}: {getattr(error, 'strerror', None) or 'no text'}") from None
    if len(token) < MIN_TOKEN_CHARS or not token.isascii() or not token.isprintable():
        raise click.UsageError(
            f"HTTP needs a token of at least {MIN_TOKEN_CHARS} printable ASCII characters: set ${TOKEN_VARIABLE}, or "
            "name a file with --token-file."
        )
    try:
        return parse_address(address, token, names)
    except ValueError as error:
        raise click.UsageError(f"--http {address}: {error}") from None
