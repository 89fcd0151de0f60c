"""HDN's own tools: the installed tool for each, and the translation of its arguments and results."""

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from toolcharter import ToolResult
from toolcharter_service.registry.records import ToolRecord

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


class SourceTool(NamedTuple):
    """One of HDN's tools."""

    installed: str
    """The installed tool that replaces it."""
    record: ToolRecord
    """The record that HDN registers at its start."""
    answer: Callable[[ToolResult], Any] | None = None
    """Converts a result to HDN's fields."""
    arguments: Mapping[str, str] = _NOTHING
    """The installed tool's names of arguments, by HDN's names; only those that differ."""
    fixed: Mapping[str, Any] = _NOTHING
    """Values for arguments that HDN's tool does not have."""

    def convert_arguments(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Convert the arguments of a call for the installed tool."""
        return {**self.fixed, **{self.arguments.get(name, name): value for name, value in args.items()}}


def _data(result: ToolResult) -> Mapping[str, Any]:
    return result.data if isinstance(result.data, Mapping) else {}


def _fields(*names: str) -> Callable[[ToolResult], Any]:
    return lambda result: {name: _data(result).get(name) for name in names}


def _program(result: ToolResult) -> Any:
    found = _data(result)
    return {
        "stdout": found.get("stdout", ""),
        "stderr": found.get("stderr", ""),
        "exit_code": found.get("exit_code", result.exit_code),
    }


def _entries(result: ToolResult) -> Any:
    return {"entries": [one["name"] for one in _data(result).get("items", ())]}


def _matches(result: ToolResult) -> Any:
    return {"matches": [one["text"] for one in _data(result).get("matches", ())]}


def _scraped(result: ToolResult) -> Any:
    kept = ("tag", "text", "attributes")
    return {"items": [{name: one.get(name) for name in kept} for one in _data(result).get("items", ())]}


def _listed(result: ToolResult) -> Any:
    return {"items": [(one.get("names") or [one.get("id")])[0] for one in _data(result).get("items", ())]}


def _parsed(result: ToolResult) -> Any:
    return {"object": _data(result).get("value")}


def _record(
    tool: str,
    name: str,
    description: str,
    takes: Mapping[str, str],
    gives: Mapping[str, str],
    permissions: tuple[str, ...],
    safety: str,
) -> ToolRecord:
    values = {
        "id": tool,
        "name": name,
        "description": description,
        "input_schema": takes,
        "output_schema": gives,
        "permissions": permissions,
        "safety_level": safety,
    }
    return ToolRecord.model_validate_json(json.dumps(values), strict=True)


_RAN: Final = {"stdout": "string", "stderr": "string", "exit_code": "int"}
# Source: hdn/tools.go, `BootstrapSeedTools`: identifiers, names, permissions and levels are HDN's.
_ALL: Final = (
    SourceTool(
        "http_get",
        _record(
            "tool_http_get",
            "HTTP GET",
            "Fetch a URL and return the status and the body.",
            {"url": "string"},
            {"status": "int", "body": "string"},
            ("net:read",),
            "low",
        ),
        _fields("status", "body"),
    ),
    SourceTool(
        "html_scraper",
        _record(
            "tool_html_scraper",
            "HTML Scraper",
            "Fetch a page and return its title, headings, paragraphs and links.",
            {"url": "string", "selectors": "string[]"},
            {"items": "array"},
            ("net:read",),
            "low",
        ),
        _scraped,
        fixed=MappingProxyType({"selectors": ["title", "h1", "h2", "h3", "p", "a"]}),
    ),
    SourceTool(
        "read_file",
        _record(
            "tool_file_read",
            "File Reader",
            "Read a text file.",
            {"path": "string"},
            {"content": "string"},
            ("fs:read",),
            "medium",
        ),
        _fields("content"),
    ),
    SourceTool(
        "write_file",
        _record(
            "tool_file_write",
            "File Writer",
            "Write a text file.",
            {"path": "string", "content": "string"},
            {"written": "int"},
            ("fs:write",),
            "high",
        ),
        _fields("written"),
    ),
    SourceTool(
        "list_files",
        _record(
            "tool_ls",
            "List Directory",
            "List a folder.",
            {"path": "string"},
            {"entries": "string[]"},
            ("fs:read",),
            "low",
        ),
        _entries,
    ),
    SourceTool(
        "bash",
        _record("tool_exec", "Shell Exec", "Run a shell command.", {"cmd": "string"}, _RAN, ("proc:exec",), "high"),
        _program,
        arguments=MappingProxyType({"cmd": "command"}),
    ),
    SourceTool(
        "docker_list",
        _record(
            "tool_docker_list",
            "Docker List",
            "List containers or images.",
            {"type": "string"},
            {"items": "string[]"},
            ("docker",),
            "medium",
        ),
        _listed,
    ),
    SourceTool(
        "codegen",
        _record(
            "tool_codegen",
            "Codegen",
            "Generate code with a language model.",
            {"spec": "string"},
            {"code": "string"},
            ("llm",),
            "medium",
        ),
        _fields("code"),
    ),
    SourceTool(
        "docker_build",
        _record(
            "tool_docker_build",
            "Docker Build",
            "Build the image of a tool.",
            {"path": "string"},
            {"image": "string"},
            ("docker",),
            "medium",
        ),
        _fields("image"),
    ),
    SourceTool(
        "register",
        _record(
            "tool_register",
            "Register Tool",
            "Register the record of a tool.",
            {"tool": "json"},
            {"ok": "bool"},
            ("registry:write",),
            "low",
        ),
        _fields("ok", "id"),
    ),
    SourceTool(
        "json_parse",
        _record("tool_json_parse", "JSON Parse", "Parse JSON.", {"text": "string"}, {"object": "json"}, (), "low"),
        _parsed,
    ),
    SourceTool(
        "text_search",
        _record(
            "tool_text_search",
            "Text Search",
            "Find the lines of a text that match a pattern.",
            {"pattern": "string", "text": "string"},
            {"matches": "string[]"},
            (),
            "low",
        ),
        _matches,
    ),
)
DOCKER_EXEC: Final = SourceTool(
    "execute_code",
    _record(
        "tool_docker_exec",
        "Docker Exec",
        "Run a command in a container.",
        {"cmd": "string", "language": "string"},
        _RAN,
        ("docker",),
        "medium",
    ),
    _program,
    arguments=MappingProxyType({"cmd": "code"}),
    fixed=MappingProxyType({"language": "bash"}),
)
SOURCE_TOOLS: Final[Mapping[str, SourceTool]] = MappingProxyType({one.record.id: one for one in (*_ALL, DOCKER_EXEC)})
"""The tools by HDN's ids."""
DEFAULTS: Final = tuple(one.record for one in _ALL)
"""The twelve records that are registered without a bootstrap file."""
MINIMUM: Final = ("tool_http_get", "tool_file_read", "tool_ls")
"""The records that a discovery restores, whatever the file has. Source: docs/Tools.md, "Lifecycle"."""
