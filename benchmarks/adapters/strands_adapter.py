"""Strands: the sequential executor, as the agent's own loop runs it, with a profile's tool and with Strands' own."""

from typing import Any

from bare import ARGS, acall, host, workspace
from strands import Agent, tool
from strands.models import Model
from strands.telemetry.metrics import Trace
from strands.tools.executors import SequentialToolExecutor

from toolcharter_strands import strands_tools


@tool
def read(path: str) -> str:
    """Read a file.

    Args:
        path: The file's path.
    """
    return (workspace / path).read_text()


class Silent(Model):
    """A model that is never asked."""

    def update_config(self, **_config: object) -> None:
        """Do nothing: there is nothing to configure."""

    def get_config(self) -> dict[str, Any]:
        """Return an empty configuration."""
        return {}

    async def structured_output(self, *_args: object, **_settings: object) -> None:
        """Never called."""

    async def stream(self, *_args: object, **_settings: object) -> None:
        """Never called."""


agent = Agent(model=Silent(), tools=[*strands_tools(host), read], callback_handler=None)
executor = SequentialToolExecutor()


async def _call(name: str) -> None:
    use = {"toolUseId": "call", "name": name, "input": dict(ARGS)}
    async for _event in executor._execute(agent, [use], [], Trace("cycle"), None, {}):  # noqa: SLF001 - it has no other way in
        pass


async def adapter() -> None:
    """Make one call through our adapter."""
    await _call("read_file")


async def native() -> None:
    """Make one call of Strands' own tool."""
    await _call("read")


OPERATIONS = {"bare": acall, "adapter": adapter, "native": native}
