"""The toolsets and tool groups that come with the core: lists of names, whichever plugins provide the tools.

A name that nothing provides is no error here. A name that is another tool's alias means that tool. The names are
GoClaw's. Where our tools are named differently, these are aliases (`exec` is our `bash`, `search` our `grep`, `process`
our `background_process`).

Source: GoClaw, "Tools System", section 2, section 5 ("Profiles", "Tool Groups") and section 6 ("Tool Deny
Lists"); `wait` from its later `internal/tools/policy.go`.
"""

from collections.abc import Mapping
from types import MappingProxyType

GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "fs": ("read_file", "write_file", "edit_file", "list_files", "search", "glob", "grep"),
        "runtime": ("exec", "process", "wait", "bash", "background_process", "execute_code"),
        "web": ("web_search", "web_fetch"),
        "memory": ("memory_search", "memory_get"),
        "sessions": (
            "sessions_list",
            "sessions_history",
            "sessions_send",
            "sessions_spawn",
            "subagents",
            "session_status",
        ),
        "ui": ("browser", "canvas"),
        "automation": ("cron", "gateway"),
        "messaging": ("message",),
        "nodes": ("nodes",),
        "goclaw": (
            *("group:fs", "group:runtime", "group:web", "group:memory", "group:sessions"),
            *("group:ui", "group:automation", "group:messaging", "group:nodes"),
            *("agents_list", "image", "skill_search", "spawn", "tts"),
        ),
        "mcp": (),
    }
)
"""By name; a tool whose spec names the group is a member too. `mcp` and `mcp:SERVER` fill as servers are found."""

TOOLSETS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "full": ("*",),
        "coding": ("group:fs", "group:runtime", "group:sessions", "group:memory", "image"),
        "messaging": ("group:messaging", "sessions_list", "sessions_history", "sessions_send", "session_status"),
        "minimal": ("session_status",),
        "subagent-deny": (
            *("gateway", "agents_list", "whatsapp_login", "session_status", "cron"),
            *("memory_search", "memory_get", "sessions_send"),
        ),
        "leaf-deny": ("sessions_list", "sessions_history", "sessions_spawn", "spawn", "subagent"),
    }
)
"""By name. A profile's own toolset of the same name replaces one; the last two are made to be denied."""
