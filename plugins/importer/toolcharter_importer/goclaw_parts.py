"""Import parts of GoClaw's `config.json`: commands, servers, web pages and limits; and files of custom tools.

Source: nextlevelbuilder/goclaw, docs/03-tools-system.md; internal/config/config_channels.go; internal/tools/shell.go.
"""

import re
from pathlib import Path
from typing import Any, Final

from toolcharter_importer.draft import Draft, Installed, to_name
from toolcharter_importer.source import Source

DENIED_LINES: Final = (
    r"\brm\s+-[rf]{1,2}\b",
    r"\bdel\s+/[fq]\b",
    r"\brmdir\s+/s\b",
    r"\b(mkfs|diskpart)\b|\bformat\s",
    r"\bdd\s+if=",
    r">\s*/dev/sd[a-z]\b",
    r"\b(shutdown|reboot|poweroff)\b",
    r":\(\)\s*\{.*\};\s*:",
    r"\bcurl\b.*\|\s*(ba)?sh\b",
    r"\bwget\b.*-O\s*-\s*\|\s*(ba)?sh\b",
    r"/dev/tcp/",
    r"\b(nc|ncat|netcat)\b.*-[el]\b",
    r"\beval\s*\$",
    r"\bbase64\s+-d\b.*\|\s*(ba)?sh\b",
)
"""Patterns of lines that `exec` always refuses. Source: docs/03-tools-system.md, section 4; internal/tools/shell.go."""
_PROVIDERS: Final = ("brave", "duckduckgo")
_SECURITY: Final = ("deny", "allowlist", "full")
_ASK: Final = ("off", "on-miss", "always")
_SHELL: Final = re.compile(r"[|&;<>$`*?()\[\]{}~#\n\\!]")
_PLACEHOLDER: Final = re.compile(r"\{\{\s*\.(\w+)\s*\}\}")
_TYPES: Final = ("string", "integer", "number", "boolean", "array", "object")
_CONCEALED: Final = "it may contain a secret; put the secret into the store, and write `secret:NAME` or `{env: NAME}`."


def take_approval(draft: Draft, source: Source) -> None:
    """Import `execApproval`, and the lines that GoClaw always refuses.

    Raises:
        ConfigurationError: A word is unknown. GoClaw would take it for "allowed".
    """
    draft.append_missing("deny", [_line_rule(pattern) for pattern in DENIED_LINES])
    path = ("tools", "execApproval")
    source.mapping(*path)
    security = _word(source, _SECURITY, "full", *path, "security")
    ask = _word(source, _ASK, "off", *path, "ask")
    listed = [
        rule for number, _ in enumerate(source.items(*path, "allowlist")) for rule in _allowlist_rules(source, number)
    ]
    draft.append_missing("allow", ["mcp:*"])
    if security == "deny":
        draft.append_missing("deny", ["bash"])
    elif ask == "always":
        draft.append_missing("ask", ["bash"])
    elif security == "full" and ask == "off":
        draft.append_missing("allow", ["bash:*"])
    else:
        draft.append_missing("allow", listed)
    if security != "deny" and ask == "on-miss":
        draft.keys["mode"] = "ask"
        draft.append_missing("allow", ["*"])
        source.note_narrower(*path, "ask", why="programs that GoClaw considers safe need `bash:` rules as well.")


def _line_rule(pattern: str) -> dict[str, Any]:
    return {"rule": "bash", "when": {"command": {"type": "string", "pattern": pattern}}}


def _word(source: Source, words: tuple[str, ...], default: str, *path: str | int) -> str:
    written = source.text(*path) or default
    if written not in words:
        raise source.make_fault(
            *path, what=f"there are {', '.join(words)}.", fix="Correct the file; nothing was imported."
        )
    return written


def _allowlist_rules(source: Source, number: int) -> list[str]:
    path = ("tools", "execApproval", "allowlist", number)
    written = source.text(*path)
    if re.search(r"[?\[\]\\]", written) or not written.strip():
        source.leave_out(*path, why="only `*` is special in a rule.")
        return []
    source.note_narrower(
        *path, why="in GoClaw it applies to the first program of a line, but a rule applies to each command."
    )
    return [f"bash:{written}"] if " " in written or "*" in written else [f"bash:{written}", f"bash:{written} *"]


def take_servers(draft: Draft, source: Source) -> None:
    """Import the MCP servers, without settings that may be secret."""
    for name in source.mapping("tools", "mcp_servers"):
        path = ("tools", "mcp_servers", name)
        source.mapping(*path)
        if "mcp_bridge" not in draft.installed.extensions:
            source.leave_out(*path, why="the plugin toolcharter-mcp-bridge is not installed.")
        elif not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9-]{0,30}", name):
            source.leave_out(*path, why="the name of a server may only have letters, digits and `-`, at most 31.")
        else:
            bridge = draft.keys.setdefault("extensions", {}).setdefault("mcp_bridge", {})
            bridge.setdefault("servers", {})[name] = _server(source, *path)


def _server(source: Source, *path: str | int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key in ("transport", "command", "url"):
        if value := source.text(*path, key):
            found[key] = value
    if words := source.texts(*path, "args"):
        found["args"] = words
    if not source.flag(*path, "enabled", default=True):
        found["enabled"] = False
    if seconds := source.number(*path, "timeout_sec"):
        found["timeout_s"] = seconds
    for key in ("env", "headers"):
        if source.mapping(*path, key):
            source.leave_out(*path, key, why=_CONCEALED)
    if source.value_at(*path, "tool_prefix") is not None:
        source.leave_out(*path, "tool_prefix", why="a server's tools are named `mcp__SERVER__TOOL`.")
    return found


def take_limits(draft: Draft, source: Source) -> None:
    """Import the calls per hour and the pages that may be fetched; leave out settings that a profile does not have."""
    if (calls := source.number("tools", "rate_limit_per_hour")) > 0:
        draft.keys.setdefault("limits", {})["calls_per_hour"] = calls
    if not source.flag("tools", "scrub_credentials", default=True):
        source.note_narrower("tools", "scrub_credentials", why="results are always scrubbed.")
    _take_pages(draft, source)
    source.mapping("tools", "browser")
    for key in ("headless", "remote_url"):
        if source.value_at("tools", "browser", key) is not None:
            source.leave_out("tools", "browser", key, why="the tool `browser` starts the system's Chromium.")
    _take_search(draft, source)


def _take_pages(draft: Draft, source: Source) -> None:
    path = ("tools", "web_fetch")
    source.mapping(*path)
    policy = _word(source, ("allow_all", "allowlist"), "allow_all", *path, "policy")
    allowed, blocked = source.texts(*path, "allowed_domains"), source.texts(*path, "blocked_domains")
    web = draft.keys["tools"].get("web")
    if web is None:
        return
    if policy == "allowlist":
        web["allowed_domains"] = [_host(domain) for domain in allowed]
    elif allowed:
        source.leave_out(*path, "allowed_domains", why="the policy is `allow_all`, which ignores the list.")
    if blocked:
        web["denied_domains"] = [_host(domain) for domain in blocked]


def _host(domain: str) -> str:
    return domain.strip().lower().rstrip(".")


def _take_search(draft: Draft, source: Source) -> None:
    path = ("tools", "web")
    source.mapping(*path)
    on = [one for one in _PROVIDERS if _searches(source, *path, one, default=one == "duckduckgo")]
    web = draft.keys["tools"].get("web")
    if web is None:
        return
    if on:
        web["provider"] = on[0]
        return
    web["allowed_actions"] = [one for one in web.get("allowed_actions", ("fetch",)) if one != "search"]
    if not web["allowed_actions"]:
        del draft.keys["tools"]["web"]


def _searches(source: Source, *path: str | int, default: bool) -> bool:
    source.mapping(*path)
    if source.value_at(*path, "api_key") is not None:
        source.leave_out(*path, "api_key", why="the key is read from BRAVE_API_KEY in the gate's environment.")
    if source.value_at(*path, "max_results") is not None:
        source.leave_out(*path, "max_results", why="each call sets the number of results.")
    return source.flag(*path, "enabled", default=default)


def read_custom_tools(file: Path, installed: Installed, name: str | None) -> Draft:
    """Import a file of custom tools: one tool, or a list of tools."""
    source = Source(file)
    draft = Draft(source, installed, name or to_name(file.stem))
    if isinstance(source.value, dict):
        source.mapping()
        _take_custom(draft, source)
    for number, _ in enumerate(source.items() if isinstance(source.value, list) else ()):
        source.mapping(number)
        _take_custom(draft, source, number)
    return draft


def _take_custom(draft: Draft, source: Source, *path: str | int) -> None:
    name, words = source.text(*path, "name"), _words(source.text(*path, "command"))
    why = _why_not_declared(source, *path)
    if why or words is None:
        why = why or "its command needs a shell, but tools are started without one."
        for left in [path] if path else [(key,) for key in source.mapping()]:
            source.leave_out(*left, why=f"the tool is left out: {why}")
        return
    tool: dict[str, Any] = {"command": words[0], "args": words[1:], "parameters": _arguments(source, *path)}
    if description := source.text(*path, "description"):
        tool["description"] = description
    tool["timeout_s"] = source.number(*path, "timeout_seconds") or 60
    for key in ("env", "working_dir"):
        if source.value_at(*path, key) is not None:
            source.leave_out(*path, key, why=_CONCEALED if key == "env" else "programs always run in the workspace.")
    if draft.declare_tool(name, tool, *path):
        draft.append_missing("allow", [f"cli:{name}"])
        source.note_narrower(
            *path, "command", why="it can only read the workspace and has no network; add `capabilities` for more."
        )


def _why_not_declared(source: Source, *path: str | int) -> str:
    """The reason why a profile cannot declare a tool; empty if it can."""
    name, command = source.text(*path, "name"), source.text(*path, "command")
    declared = source.mapping(*path, "parameters", "properties")
    reasons = {
        "it is switched off.": not source.flag(*path, "enabled", default=True),
        "the name of a tool may only have letters, digits, `_` and `-`, at most 64.": to_name(name) != name,
        "it belongs to a single agent; write it into that agent's profile.": bool(source.text(*path, "agent_id")),
        "GoClaw refuses its command.": any(re.search(pattern, command) for pattern in DENIED_LINES),
        "an argument of its command is not declared.": bool({*_PLACEHOLDER.findall(command)} - declared.keys()),
    }
    return next((why for why, holds in reasons.items() if holds), "")


def _words(command: str) -> list[str] | None:
    """Split a command into words with `{name}` for each placeholder; None if the command needs a shell."""
    plain = _PLACEHOLDER.sub(r"\1", command)
    if not command.strip() or _SHELL.search(plain) or re.search(r"['\"]", plain):
        return None
    return [
        _PLACEHOLDER.sub(r"{\1}", word)
        for word in _PLACEHOLDER.sub(lambda one: one[0].replace(" ", ""), command).split()
    ]


def _arguments(source: Source, *path: str | int) -> dict[str, Any]:
    source.mapping(*path, "parameters")
    source.text(*path, "parameters", "type")
    required = source.texts(*path, "parameters", "required")
    found: dict[str, Any] = {}
    used = set(_PLACEHOLDER.findall(source.text(*path, "command")))
    for name in source.mapping(*path, "parameters", "properties"):
        at = (*path, "parameters", "properties", name)
        source.mapping(*at)
        if name not in used:
            source.leave_out(*at, why="no word of the command uses it.")
            continue
        kind = source.text(*at, "type", default="string")
        found[name] = {"type": kind if kind in _TYPES else "string", "required": name in required}
        if description := source.text(*at, "description"):
            found[name]["description"] = description
        if (values := source.value_at(*at, "enum")) is not None:
            found[name]["enum"] = values
            source.mark_imported(*at, "enum")
    return found
