"""Which system a file is of, and who reads it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from toolcharter_importer import duragent, goclaw, goclaw_parts, hdn, linggen, llm_agent
from toolcharter_importer.draft import Draft, Installed
from toolcharter_importer.source import Source

Reader = Callable[[Path, Installed, str | None], Draft]
FORMATS: Final[dict[str, tuple[Reader, str]]] = {
    "duragent-policy": (duragent.read_policy, duragent.UNSPOKEN),
    "duragent-agent": (duragent.read_agent, duragent.UNSPOKEN),
    "hdn-tools": (hdn.read_bootstrap, hdn.UNSPOKEN),
    "linggen-agent": (linggen.read_agent, linggen.UNSPOKEN),
    "llm-agent": (llm_agent.read_profile, llm_agent.UNSPOKEN),
    "goclaw": (goclaw.read_config, goclaw.UNSPOKEN),
    "goclaw-tools": (goclaw_parts.read_custom_tools, goclaw.UNSPOKEN),
}
"""Each format: who reads a file of it, and why a key that nobody reads is left out."""


def format_of(file: Path) -> str | None:
    """The format of *file*, by what is in it; None if it may be several or none.

    Raises:
        ConfigurationError: It cannot be read.
    """
    value = Source(file).value
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, dict):
        return None
    return _of_list(first) if isinstance(value, list) else _of_mapping(file, first)


def _of_list(first: dict[str, Any]) -> str | None:
    return "hdn-tools" if "id" in first else "goclaw-tools" if "command" in first else None


def _of_mapping(file: Path, value: dict[str, Any]) -> str | None:
    kinds = {"Policy": "duragent-policy", "Agent": "duragent-agent"}
    kind = value.get("kind")
    if isinstance(kind, str) and kind in kinds:
        return kinds[kind]
    if file.suffix == ".md":
        return "linggen-agent" if {"name", "tools"} <= value.keys() else None
    if "command" in value and "name" in value:
        return "goclaw-tools"
    if {"backend", "system_prompt", "token_budget", "task_templates"} & value.keys():
        return "llm-agent"
    if {"agents", "gateway", "providers", "channels"} & value.keys():
        return "goclaw"
    return "duragent-policy" if file.name in {"policy.yaml", "policy.local.yaml"} else None


def imported(file: Path, kind: str, there: Installed, name: str | None) -> Draft:
    """The profile that *file* becomes, with all that it does not say.

    Raises:
        ConfigurationError: The file cannot be read, or a profile of it would permit what it denies.
    """
    read, unspoken = FORMATS[kind]
    draft = read(file, there, name)
    draft.notes = [*draft.source.finish(unspoken), *draft.notes]
    return draft
