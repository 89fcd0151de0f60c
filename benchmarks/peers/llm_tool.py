"""llm, ungoverned, without any validation: `Response.execute_tool_calls`."""

import llm
from llm.models import Prompt


def read(path: str, limit: int = 10) -> str:  # noqa: ARG001 - the same tool everywhere
    """Read a file."""
    return "x" * 200


class Silent(llm.Model):
    """A model that is never asked."""

    model_id = "silent"
    supports_tools = True

    def execute(self, prompt, stream, response, conversation):  # noqa: ANN001, ANN201, ARG002, D102 - llm's signature
        yield ""


model = Silent()
response = llm.Response(Prompt("", model=model, tools=[llm.Tool.function(read)]), model, stream=False)
calls = [llm.ToolCall(name="read", arguments={"path": "src/app.py", "limit": 3}, tool_call_id="call")]


def call() -> None:
    """Make one call."""
    response.execute_tool_calls(tool_calls_list=calls)


OPERATIONS = {"call": call}
