"""Offer a profile's tools to Anthropic's models: their schemas, and the results of the calls in a message."""

from toolcharter_anthropic.messages import aanswer_tool_uses, answer_tool_uses, anthropic_tools

__all__ = ["aanswer_tool_uses", "answer_tool_uses", "anthropic_tools"]
