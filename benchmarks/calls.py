"""The cost of one governed call, compared to calls through other frameworks, which govern nothing."""

from environments import CAREFUL, LANGCHAIN, LLM, MCP, OPENAI_AGENTS, PYDANTIC_AI, STRANDS
from measure import Row, Subject, ratio

GOVERNED = Subject("ours/governed.py")
_LANGCHAIN = Subject("peers/langchain_tool.py", LANGCHAIN)
_PYDANTIC_AI = Subject("peers/pydantic_ai_tool.py", PYDANTIC_AI)
_CAREFUL = Subject("peers/careful_tool.py", CAREFUL)

_OURS = (GOVERNED, "call")

_WHERE_IT_GOES = (
    "two writes to the event file take a seventh of the call, the confined open with its `fstat`, read and close a third, "
    "the two searches for secrets a tenth, and some sixty Python calls the rest. Less is to be had by writing both halves "
    "of the events after the body, or by reading files unexamined."
)

_DENIAL = (
    "a denial leaves four events, not three, and its reason, message and stage in two of them; a check gets the call as an "
    "object of its own. That no file is opened for it makes up for all of that or, beside a check, for nearly all."
)

ROWS = (
    Row(
        "governed call / LangChain `StructuredTool.invoke`",
        ratio(_OURS, (_LANGCHAIN, "call")),
        0.13,
        price=_WHERE_IT_GOES,
    ),
    Row("governed call / pydantic-ai `ToolManager.handle_call`, async tool", ratio(_OURS, (_PYDANTIC_AI, "call")), 0.9),
    Row("governed call / a careful user's LangChain, governed by hand", ratio(_OURS, (_CAREFUL, "call")), 0.05),
    Row(
        "governed call with 20 plugins on `check_call` / LangChain `invoke`",
        ratio((GOVERNED, "twenty_plugins"), (_LANGCHAIN, "call")),
        0.12,
    ),
    Row("call denied by a check / governed call", ratio((GOVERNED, "denied_by_check"), _OURS), 1.0, price=_DENIAL),
    Row("call denied by its tool / governed call", ratio((GOVERNED, "denied_by_tool"), _OURS), 1.0, price=_DENIAL),
    Row(
        "call denied by the last of 20 plugins / governed call with 20 plugins",
        ratio((GOVERNED, "twenty_plugins_denied"), (GOVERNED, "twenty_plugins")),
        1.0,
    ),
    Row(
        "sync tool from async code / pydantic-ai, sync tool",
        ratio((GOVERNED, "acall"), (_PYDANTIC_AI, "sync_tool")),
        0.12,
        price="the peer's thread hop has become cheaper; ours is the governed call and a coroutine around it.",
    ),
    Row(
        "governed call / MCP SDK, low-level server in memory", ratio(_OURS, (Subject("peers/mcp_tool.py", MCP), "call"))
    ),
    Row("governed call / Strands executor", ratio(_OURS, (Subject("peers/strands_tool.py", STRANDS), "call"))),
    Row(
        "governed call / openai-agents `on_invoke_tool`, async tool",
        ratio(_OURS, (Subject("peers/openai_agents_tool.py", OPENAI_AGENTS), "call")),
    ),
    Row(
        "governed call / llm `execute_tool_calls`, which validates nothing",
        ratio(_OURS, (Subject("peers/llm_tool.py", LLM), "call")),
    ),
)
