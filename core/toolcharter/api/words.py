"""The closed lists of words that specs, profiles and rules share; cheap to import."""

from typing import Literal

Kind = Literal["builtin", "bash", "cli", "mcp", "custom"]
Safety = Literal["low", "medium", "high"]

KINDS = ("builtin", "bash", "cli", "mcp", "custom")
SAFETY_LEVELS = ("low", "medium", "high")
"""From the least to the most harm."""
RULE_PREFIXES = frozenset({"bash", "builtin", "cli", "mcp", "custom", "*", "group", "cap"})
"""What a rule can begin with; no tool but `bash` bears one of these names."""
