"""Gives a profile's tools to Pydantic AI's agents, and puts an agent's own tools behind the gate.

`ProfileToolset` is a toolset of a profile's tools. `Govern` is a capability that sends the calls of all other tools of an
agent through the gate. A call that needs a person is deferred. Source: pydantic-ai 2.68.
"""

from toolcharter_pydantic_ai.capability import Govern
from toolcharter_pydantic_ai.toolset import ProfileToolset

__all__ = ["Govern", "ProfileToolset"]
