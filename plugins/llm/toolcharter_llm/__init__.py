"""Gives a profile's tools to `llm`: on the command line as the toolbox `Toolcharter`, in Python by `llm_tools`."""

from toolcharter_llm.toolbox import Ask, Toolcharter, llm_tools

__all__ = ["Ask", "Toolcharter", "llm_tools"]
