"""Leaves out the tests of frameworks that this environment does not hold: `scripts/hosts.py` runs them, each in its own."""

from importlib.util import find_spec

FRAMEWORKS = {
    "anthropic": "anthropic",
    "langchain": "langchain",
    "llm": "llm",
    "openai": "agents",
    "pydantic_ai": "pydantic_ai",
    "strands": "strands",
}
collect_ignore = [f"test_{name}.py" for name, module in FRAMEWORKS.items() if find_spec(module) is None]
