"""Anthropic: the dispatcher for a message with one use of a tool. Its SDK has no tools of its own that run by themselves."""

from anthropic.types import Message, ToolUseBlock
from bare import ARGS, call, host

from toolcharter_anthropic import answer_tool_uses

USE = ToolUseBlock(type="tool_use", id="call", name="read_file", input=ARGS)
MESSAGE = Message.model_construct(content=[USE])


def adapter() -> None:
    """One call of ours."""
    answer_tool_uses(host, MESSAGE)


OPERATIONS = {"bare": call, "adapter": adapter}
