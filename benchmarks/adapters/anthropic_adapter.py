"""Anthropic: the dispatcher for a message with one use of a tool, and a function as its SDK's tool runner calls it."""

from anthropic import beta_tool
from anthropic.types import Message, ToolUseBlock
from bare import ARGS, call, host, read

from toolcharter_anthropic import answer_tool_uses

USE = ToolUseBlock(type="tool_use", id="call", name="read_file", input=ARGS)
own = beta_tool(read)
MESSAGE = Message.model_construct(content=[USE])


def adapter() -> None:
    """One call of ours."""
    answer_tool_uses(host, MESSAGE)


def native() -> None:
    """One call of its own."""
    own.call(ARGS)


OPERATIONS = {"bare": call, "adapter": adapter, "native": native}
