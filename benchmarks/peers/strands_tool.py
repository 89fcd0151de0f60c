"""Strands, ungoverned: the sequential executor, as the agent's own loop runs it.

The executor has no public entry point; a whole turn of a model would only cost more.
"""

from strands import Agent, tool
from strands.models import Model
from strands.telemetry.metrics import Trace
from strands.tools.executors import SequentialToolExecutor


@tool
async def read(path: str, limit: int = 10) -> str:  # noqa: ARG001 - the same tool everywhere
    """Read a file.

    Args:
        path: The file's path.
        limit: The most lines.
    """
    return "x" * 200


class Silent(Model):
    """A model that is never asked."""

    def update_config(self, **_config: object) -> None:
        """Do nothing: there is nothing to configure."""

    def get_config(self) -> dict:
        """Return an empty configuration."""
        return {}

    async def structured_output(self, *_args: object, **_settings: object) -> None:
        """Never called."""

    async def stream(self, *_args: object, **_settings: object) -> None:
        """Never called."""


agent = Agent(model=Silent(), tools=[read], callback_handler=None)
executor = SequentialToolExecutor()


async def call() -> None:
    """Make one call."""
    use = {"toolUseId": "call", "name": "read", "input": {"path": "src/app.py", "limit": 3}}
    async for _event in executor._execute(agent, [use], [], Trace("cycle"), None, {}):  # noqa: SLF001 - see above
        pass


OPERATIONS = {"call": call}
