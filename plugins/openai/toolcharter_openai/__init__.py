"""Gives a profile's tools to OpenAI's models: schemas, and the results of the calls that a response asks for.

`toolcharter_openai.agents_sdk` does the same for the Agents SDK. Source: OpenAI, "Function calling"; openai 3.51.
"""

from toolcharter_openai.dispatch import aanswer_calls, answer_calls, openai_tools

__all__ = ["aanswer_calls", "answer_calls", "openai_tools"]
