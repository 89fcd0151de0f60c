"""Makes a first call of LangChain: imports it, makes the tool, calls it."""

from langchain_core.tools import StructuredTool


def read(path: str, limit: int = 10) -> str:  # noqa: ARG001 - the same tool everywhere
    """Read a file."""
    return "x" * 200


StructuredTool.from_function(read).invoke({"path": "src/app.py", "limit": 3})
