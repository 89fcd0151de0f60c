"""llm: `Response.execute_tool_calls` with a profile's tool and with llm's own, which llm does not validate."""

from collections.abc import Iterator
from typing import Any

import llm
from bare import ARGS, call, host, read
from llm.models import Prompt

from toolcharter_llm import llm_tools


class Silent(llm.Model):
    """A model that is never asked."""

    model_id = "silent"
    supports_tools = True

    def execute(self, *_args: Any, **_settings: Any) -> Iterator[str]:
        """Never called."""
        yield ""


model = Silent()
tools = [*llm_tools(host), llm.Tool.function(read)]
response = llm.Response(Prompt("", model=model, tools=tools), model, stream=False)
OURS = [llm.ToolCall(name="read_file", arguments=ARGS, tool_call_id="call")]
OWN = [llm.ToolCall(name="read", arguments=ARGS, tool_call_id="call")]


def adapter() -> None:
    """Make one call through our adapter."""
    response.execute_tool_calls(tool_calls_list=OURS)


def native() -> None:
    """Make one call of llm's own tool."""
    response.execute_tool_calls(tool_calls_list=OWN)


OPERATIONS = {"bare": call, "adapter": adapter, "native": native}
