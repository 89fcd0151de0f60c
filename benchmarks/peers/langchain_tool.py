"""LangChain, ungoverned: `StructuredTool.invoke` validates the arguments and runs its callbacks."""

from langchain_core.tools import StructuredTool


def read(path: str, limit: int = 10) -> str:  # noqa: ARG001 - the same tool everywhere
    """Read a file."""
    return "x" * 200


tool = StructuredTool.from_function(read)


def call() -> None:
    """Make one call."""
    tool.invoke({"path": "src/app.py", "limit": 3})


OPERATIONS = {"call": call}
