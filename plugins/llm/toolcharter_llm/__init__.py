"""Gives a profile's tools to `llm`: on the command line as the toolbox `Toolcharter`, in Python by `llm_tools` and `allm_tools`."""

from toolcharter_llm.toolbox import Ask, AsyncAsk, Toolcharter, allm_tools, llm_tools

__all__ = ["Ask", "AsyncAsk", "Toolcharter", "allm_tools", "llm_tools"]
