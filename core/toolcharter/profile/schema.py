"""What a profile and a ceiling may hold, key by key."""

from toolcharter.profile.schema_parts import (
    ALLOW,
    APPROVALS,
    ASK,
    AVAILABILITY,
    CAPABILITIES,
    CASE,
    CEILING_LIMITS,
    DENY,
    GUARDS,
    HIDDEN,
    LIMITS,
    NAME_FIX,
    NOTIFY,
    TOOL_LISTS,
    WORKSPACE_NOTIFY,
)
from toolcharter.profile.settings import MODES
from toolcharter.profile.shapes import NAME, Choice, Flag, Free, Items, Key, Keys, Named, Specifier, Text, canonical

# A path to anything else is refused unopened: the faults of a file that is no profile would repeat its lines.
PARENT = r"[A-Za-z0-9_-]+|[\s\S]*\.ya?ml"
_DISTRIBUTION = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_TIGHTENING = {
    "deny": Key(DENY, "Rules that forbid; none can be undone."),
    "ask": Key(ASK, "Rules that have a person asked in every mode, whatever `allow` says."),
    "mode": Key(Choice(MODES), "What runs without a rule: see the table of modes."),
    "capabilities": Key(CAPABILITIES, "What the tools may touch."),
    "limits": Key(LIMITS, "What one call may take, and how many calls there may be."),
    "notify": Key(NOTIFY, "Whom to tell of which calls, after the call."),
}
PROFILE = Keys(
    {
        "profile": Key(Text("a name of letters, digits, '_' and '-'", NAME), "The name that events show."),
        "description": Key(Text(), "For people."),
        "extends": Key(
            Items(Text("the name of a profile or the path of a .yaml or .yml file", PARENT), "a list of profiles"),
            "Parents: names, or paths of .yaml files seen from this file. They count from left to right, then the child.",
        ),
        "mode": _TIGHTENING["mode"],
        "tools": Key(
            Named(
                Free("a mapping with the tool's policy", "{}"),
                "a mapping from tools to their policies",
                "Write each tool as a key: `git: {}`.",
            ),
            "The tools there are, each with its policy; {} takes the defaults, which let the least through.",
        ),
        "deny": _TIGHTENING["deny"],
        "ask": _TIGHTENING["ask"],
        "allow": Key(ALLOW, "Rules that permit what needs one; `mode` says what does."),
        "capabilities": _TIGHTENING["capabilities"],
        "availability": Key(Items(AVAILABILITY, "a list of entries"), "Which tools some callers see."),
        "toolsets": Key(TOOL_LISTS._replace(noun="toolset"), "Named lists of tools: `toolset:NAME` in availability."),
        "groups": Key(TOOL_LISTS._replace(noun="group"), "More members of tool groups: `group:NAME`."),
        "approvals": Key(APPROVALS, "How people are asked."),
        "session_guards": Key(GUARDS, "What is remembered of a session's calls."),
        "limits": _TIGHTENING["limits"],
        "notify": _TIGHTENING["notify"],
        "extensions": Key(
            Named(
                Free("a mapping with the extension's policy", "{}"),
                "a mapping from extensions to their policies",
                "Write each extension as a key: `principles: {}`.",
                noun="extension",
            ),
            "Plugins without tools, such as checks, each with its policy.",
        ),
        "runner": Key(
            Text("the name of a runner", NAME, "Runners: 'host', which contains nothing, and those of plugins."),
            "Where programs run: `host`, or an extension such as `bwrap`. Without it, `bash` and its like run nothing.",
        ),
        "hidden": Key(
            HIDDEN,
            "Files that no tool reads or changes and no program in a sandbox sees. Without it: files of credentials; see below.",
        ),
        "plugins": Key(
            Named(
                Specifier(),
                "a mapping from distributions to version specifiers",
                "Write each as `toolcharter-git: '>=1,<2'`.",
                noun="distribution",
                pattern=_DISTRIBUTION,
                name_fix="Write its name as pip knows it.",
                same=canonical,
            ),
            "Versions of distributions; a start with any other is refused.",
        ),
        "events": Key(
            Keys(
                {
                    "args": Key(Choice(("full", "shape", "none")), "How much of the arguments events show."),
                    "required": Key(Flag(), "Whether a call that cannot be recorded is refused."),
                },
                "a mapping",
            ),
            "How much events show, and whether calls need them.",
        ),
        "cases": Key(Items(CASE, "a list of cases"), "Calls, and what must become of them; `toolcharter test` checks."),
        "missing_ok": Key(
            Items(
                Text(
                    "the name of a tool, 'group:NAME' or 'toolset:NAME'",
                    rf"(?:group:|toolset:)?{NAME}(?::[A-Za-z0-9_-]+)?",
                    NAME_FIX,
                ),
                "a list of names of tools",
            ),
            "Names that nothing may provide yet.",
        ),
    },
    "a mapping of keys such as `profile` and `tools`",
    {"profile": "Write `profile: NAME`; events show the name."},
    is_partial=True,
)
_TIGHTEN_FIX = f"A ceiling can only tighten: {', '.join(_TIGHTENING)}. Write it in a profile."
CEILING = Keys(
    {**_TIGHTENING, "limits": Key(CEILING_LIMITS, _TIGHTENING["limits"].about)},
    "a mapping of keys such as `deny` and `mode`",
    misplaced=dict.fromkeys(PROFILE.keys.keys() - _TIGHTENING.keys(), _TIGHTEN_FIX),
)
"""An administrator's file."""
WORKSPACE_CEILING = CEILING._replace(
    keys={
        **CEILING.keys,
        "notify": Key(WORKSPACE_NOTIFY, CEILING.keys["notify"].about),
    }
)
"""The workspace's own file."""
