"""LangChain: `invoke` with a model's call, of a profile's tool and of LangChain's own."""

from bare import ARGS, call, host, read
from langchain_core.tools import StructuredTool

from toolcharter_langchain import langchain_tools

(ours,) = langchain_tools(host)
own = StructuredTool.from_function(read)
USE = {"type": "tool_call", "name": "read_file", "args": ARGS, "id": "call"}


def adapter() -> None:
    """One call of ours."""
    ours.invoke(USE)


def native() -> None:
    """One call of its own."""
    own.invoke({**USE, "name": "read"})


OPERATIONS = {"bare": call, "adapter": adapter, "native": native}
