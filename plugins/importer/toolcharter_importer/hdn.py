"""Import HDN's `tools_bootstrap.json`, the records of its registry.

HDN's own tools become the corresponding tools here; its commands become tools that the profile declares.

Source: stevef1uk/artificial_mind, docs/Tools.md and hdn/tools.go.
"""

import re
from pathlib import Path
from typing import Any, Final

from toolcharter_importer.draft import Draft, Installed, to_name
from toolcharter_importer.source import Source

UNREAD_REASON: Final = "a record of HDN has no such key, or a profile has no equal for it."
OWN: Final = {
    "tool_codegen": "codegen",
    "tool_docker_build": "docker_build",
    "tool_docker_exec": "execute_code",
    "tool_docker_list": "docker_list",
    "tool_exec": "bash",
    "tool_file_read": "read_file",
    "tool_file_write": "write_file",
    "tool_html_scraper": "html_scraper",
    "tool_http_get": "http_get",
    "tool_json_parse": "json_parse",
    "tool_ls": "list_files",
    "tool_register": "register",
    "tool_text_search": "text_search",
}
"""The identifiers of HDN's built-in tools, and the corresponding tools here."""
_PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")
_TYPES: Final = {
    "any": "string", "array": "array", "bool": "boolean", "boolean": "boolean", "float": "number", "int": "integer",
    "integer": "integer", "json": "object", "number": "number", "object": "object", "string": "string",
}  # fmt: skip
_SAFETY: Final = ("low", "medium", "high")
_UNLISTED: Final = "commands need `bash:` rules; write rules for those that may run."


def read_bootstrap(file: Path, installed: Installed, name: str | None) -> Draft:
    """Import a file of records. If several records have the same identifier, the last one counts, as in HDN."""
    source = Source(file)
    draft = Draft(source, installed, name or to_name(file.stem))
    seen: dict[str, int] = {}
    for number, _ in enumerate(source.items()):
        source.mapping(number)
        identifier = source.text(number, "id").lower()
        if identifier in seen:
            source.leave_out(seen[identifier], why="a later record has the same identifier and replaces it.")
        seen[identifier] = number
    for number in sorted(seen.values()):
        _take_record(draft, source, number)
    return draft


def _take_record(draft: Draft, source: Source, number: int) -> None:
    identifier = source.text(number, "id")
    for key in ("name", "created_by", "created_at", "output_schema"):
        if source.value_at(number, key) is not None:
            source.leave_out(
                number, key, why="a profile does not record this about a tool; the service's registry does."
            )
    if identifier in OWN:
        _take_own(draft, source, number, OWN[identifier])
        return
    source.mapping(number, "exec")
    kind = source.text(number, "exec", "type").lower()
    if to_name(identifier) != identifier:
        source.leave_out(number, why="the name of a tool may only have letters, digits, `_` and `-`, at most 64.")
    elif kind == "cmd":
        _take_command(draft, source, number, identifier)
    else:
        source.leave_out(
            number, why="a profile can only declare `exec.type: cmd`; the service's registry also takes images."
        )


def _take_own(draft: Draft, source: Source, number: int, name: str) -> None:
    if not draft.add_tool(name, {}, number):
        return
    for key in ("description", "input_schema", "permissions", "safety_level", "exec"):
        if source.value_at(number, key) is not None:
            source.leave_out(number, key, why="HDN's own handler ignores it, and the tool here has its own.")
    if name in {"bash", "execute_code"}:
        source.note_narrower(number, why=_UNLISTED)


def _take_command(draft: Draft, source: Source, number: int, name: str) -> None:
    command, words = source.text(number, "exec", "cmd"), source.texts(number, "exec", "args")
    missing = _why_not_declared(command, words)
    if missing:
        source.leave_out(number, why=missing)
        return
    used = {found for word in words for found in _PLACEHOLDER.findall(word)}
    parameters, stdin = _parameters(source, number, used)
    if missing := next((f"the argument {one!r} is not declared." for one in used if one not in parameters), ""):
        source.leave_out(number, why=missing)
        return
    tool: dict[str, Any] = {"command": command, "args": words, "parameters": parameters}
    if stdin:
        tool["stdin"] = "stdin"
    if description := source.text(number, "description"):
        tool["description"] = description
    tool |= {"capabilities": _capabilities(source, number), "safety": _safety(source, number)}
    if draft.declare_tool(name, tool, number):
        draft.append_missing("allow", [f"cli:{name}"])


def _why_not_declared(command: str, words: list[str]) -> str:
    if any("{{" in word for word in words):
        return "HDN does not fill in `{{`."
    if "/" in command and not Path(command).is_absolute():
        return "the path of a command must be absolute."
    if Path(command).is_absolute() and not Path(command).is_file():
        return "the command is not on this machine."
    return "" if command and command.isprintable() else "there is no command."


def _parameters(source: Source, number: int, used: set[str]) -> tuple[dict[str, Any], bool]:
    """The arguments of the command, and whether one is its standard input. Unused arguments have no effect in HDN."""
    found: dict[str, Any] = {}
    for key in source.mapping(number, "input_schema"):
        written = source.text(number, "input_schema", key)
        kind = _TYPES.get(written.rstrip("?").lower(), "array" if written.rstrip("?").endswith("[]") else "")
        if (key not in used and key != "stdin") or not key.isidentifier():
            source.leave_out(number, "input_schema", key, why="no word of the command uses it.")
        elif not kind:
            source.leave_out(number, "input_schema", key, why="an argument of a tool cannot have this type.")
        else:
            found[key] = {"type": kind, "required": not written.endswith("?")}
    return found, "stdin" in found and "stdin" not in used


def _capabilities(source: Source, number: int) -> list[str]:
    """The capabilities of the record, and `proc:exec`, which each tool that runs a program needs here."""
    return sorted({*source.texts(number, "permissions"), "proc:exec"})


def _safety(source: Source, number: int) -> str:
    level = source.text(number, "safety_level", default="high").lower()
    if level not in _SAFETY:
        source.note_narrower(number, "safety_level", why="only low, medium and high are known; it becomes high.")
        return "high"
    return level
