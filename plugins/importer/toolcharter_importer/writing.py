"""Write a draft as YAML for the profile reader, and check that the profile would start."""

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import yaml
from typing_extensions import override

from toolcharter import build_tools
from toolcharter_importer.draft import Draft
from toolcharter_importer.source import Note

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
"""Text that needs no quotes, unless it is a word with another meaning in YAML."""


class _Dumper(yaml.SafeDumper):
    """Quotes texts that YAML parsers read differently, and never writes an alias."""

    @override
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, None if _PLAIN.fullmatch(value) else '"')


_Dumper.add_representer(str, _text)


def profile_text(draft: Draft) -> str:
    """Return the profile of *draft* as YAML, after comments with its notes."""
    said = [f"# {_one_line(note)}" for note in draft.notes]
    head = [f"# Imported from {draft.source.file.name} by `toolcharter import`.", *said]
    return "\n".join(head) + f"\n{_dumped(draft.ordered_keys())}"


def _dumped(keys: dict[str, Any]) -> str:
    text: str = yaml.dump(keys, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text


def _one_line(note: Note) -> str:
    """A note on one line, without the file's path."""
    _, line, column = note.place.rsplit(":", 2)
    return " ".join(f"{line}:{column}: {note.key or 'the file'}: {note.kind}: {note.why}".split())


def check_drafts(drafts: Sequence[Draft]) -> None:
    """Build each profile, without its MCP servers: they are untrusted programs, and would be started.

    Raises:
        ConfigurationError: A profile would not start; with all faults.
    """
    with tempfile.TemporaryDirectory(prefix="toolcharter-import-") as folder:
        for draft in drafts:
            file = Path(folder, f"{draft.name}.yaml")
            file.write_text(_dumped(_without_servers(draft.ordered_keys())), encoding="utf-8")
            with build_tools(file, workspace=folder, events=lambda _event: None):
                pass


def _without_servers(keys: dict[str, Any]) -> dict[str, Any]:
    extensions = keys.get("extensions", {})
    bridge = extensions.get("mcp_bridge", {})
    servers = {name: {**server, "enabled": False} for name, server in bridge.get("servers", {}).items()}
    off = {"mcp_bridge": {**bridge, "servers": servers}} if servers else {}
    return {**keys, "extensions": {**extensions, **off}} if extensions else keys
