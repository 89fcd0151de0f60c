"""Gives a profile's tools to LangChain's agents, and puts an agent's own tools behind the gate.

`langchain_tools` makes tools of a profile's tools. `GovernMiddleware` sends the calls of all other tools of an agent through
the gate. A call that needs a person interrupts the graph. Source: langchain 1.4, langchain-core 1.7, langgraph 1.2.
"""

from toolcharter_langchain.middleware import GovernMiddleware
from toolcharter_langchain.tools import ProfileTool, langchain_tools

__all__ = ["GovernMiddleware", "ProfileTool", "langchain_tools"]
