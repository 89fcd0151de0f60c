"""Anthropic: the dispatcher for a message with one tool use, and a function as the SDK's own tool runner calls it."""

from anthropic import beta_tool
from anthropic.types import Message, ToolUseBlock
from bare import ARGS, call, host, read

from toolcharter_anthropic import answer_tool_uses

USE = ToolUseBlock(type="tool_use", id="call", name="read_file", input=ARGS)
own = beta_tool(read)
MESSAGE = Message.model_construct(content=[USE])


def adapter() -> None:
    """Make one call through our adapter."""
    answer_tool_uses(host, MESSAGE)


def native() -> None:
    """Make one call the SDK's own way."""
    own.call(ARGS)


OPERATIONS = {"bare": call, "adapter": adapter, "native": native}
