"""LangChain: `invoke` with a model's call, of a profile's tool and of LangChain's own tool."""

from bare import ARGS, call, host, read
from langchain_core.tools import StructuredTool

from toolcharter_langchain import langchain_tools

(ours,) = langchain_tools(host)
own = StructuredTool.from_function(read)
USE = {"type": "tool_call", "name": "read_file", "args": ARGS, "id": "call"}


def adapter() -> None:
    """Make one call through our adapter."""
    ours.invoke(USE)


def native() -> None:
    """Make one call of LangChain's own tool."""
    own.invoke({**USE, "name": "read"})


OPERATIONS = {"bare": call, "adapter": adapter, "native": native}
