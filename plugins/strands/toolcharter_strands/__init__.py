"""Gives a profile's tools to Strands' agents, and puts an agent's own tools behind the gate.

`strands_tools` makes tools of a profile's tools. `Govern` is a middleware that sends the calls of all other tools of an
agent through the gate. A call that needs a person interrupts the agent. Source: strands-agents 1.62.
"""

from toolcharter_strands.middleware import Govern
from toolcharter_strands.tools import ProfileTool, strands_tools

__all__ = ["Govern", "ProfileTool", "strands_tools"]
