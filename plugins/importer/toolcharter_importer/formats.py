"""Detect the format of a file and call its reader."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from toolcharter_importer import duragent, goclaw, goclaw_parts, hdn, linggen, llm_agent
from toolcharter_importer.draft import Draft, Installed
from toolcharter_importer.source import Source

Reader = Callable[[Path, Installed, str | None], Draft]
FORMATS: Final[dict[str, tuple[Reader, str]]] = {
    "duragent-policy": (duragent.read_policy, duragent.UNREAD_REASON),
    "duragent-agent": (duragent.read_agent, duragent.UNREAD_REASON),
    "hdn-tools": (hdn.read_bootstrap, hdn.UNREAD_REASON),
    "linggen-agent": (linggen.read_agent, linggen.UNREAD_REASON),
    "llm-agent": (llm_agent.read_profile, llm_agent.UNREAD_REASON),
    "goclaw": (goclaw.read_config, goclaw.UNREAD_REASON),
    "goclaw-tools": (goclaw_parts.read_custom_tools, goclaw.UNREAD_REASON),
}
"""For each format, its reader, and the reason to report for keys that the reader ignores."""


def detect_format(file: Path) -> str | None:
    """Detect the format of *file* by its content; return None if that is ambiguous or unknown.

    Raises:
        ConfigurationError: The file cannot be read.
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


def import_file(file: Path, kind: str, installed: Installed, name: str | None) -> Draft:
    """Import *file*; return the draft with notes about everything that the profile does not express.

    Raises:
        ConfigurationError: The file cannot be read, or its profile would permit something that the file denies.
    """
    read, unspoken = FORMATS[kind]
    draft = read(file, installed, name)
    draft.notes = [*draft.source.finish(unspoken), *draft.notes]
    return draft
