"""Map each agent's own tools to the tools of a profile: one table per agent.

A row maps a call of an agent's tool to calls of toolcharter's tools. A tool without a row is judged under its own name,
as a custom tool: the profile has to allow that name. An argument that a row does not know is an error, since it could
change what the call does.
"""

import json
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from toolcharter_guard.exact import UnreadableArguments, find_urls, is_pattern, pattern_folder, require_exact_path
from toolcharter_guard.patches import BEGIN, parse_patch

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
MCP = "mcp__"


class OurCall(NamedTuple):
    """One call as the profile's rules see it."""

    tool: str
    args: dict[str, Any]
    kind: Literal["custom", "mcp"] = "custom"
    """`custom` or `mcp`, for a tool that is not one of toolcharter's."""


class AgentContext(NamedTuple):
    """The folders of the agent: its workspace and its current folder."""

    workspace: Path
    """The real path of the profile's workspace."""
    cwd: Path
    """The agent's current folder."""

    def path(self, text: object) -> str:
        """Return *text* as a path relative to the workspace; as it is, to be denied, if it begins outside.

        A `..` is kept: after a link it leads to another folder than the text suggests, as only the path guard can see.
        """
        named = self._require_unambiguous(require_exact_path(text))
        if not named.startswith("/"):
            return _join_path(self._relative_folder(), named)
        for prefix, folder in ((str(self.cwd), self._relative_folder()), (str(self.workspace), ".")):
            if named == prefix or named.startswith(f"{prefix}/"):
                return _join_path(folder, named.removeprefix(prefix).lstrip("/"))
        return named

    def line(self, command: object, folder: object = None) -> str:
        """Return a command line that first changes to *folder*, by default to the agent's current folder."""
        text, where = _join_command(command), self._relative_folder(require_exact_path(folder) if folder else "")
        return text if where == "." else f"cd {shlex.quote(where)} && {{ {text}\n}}"

    def _require_unambiguous(self, named: str) -> str:
        """The path *named*, with `~` replaced by the home folder; refused if agents could resolve it differently.

        An agent in JavaScript removes `link/..` from a path, but the kernel goes to the folder above the link's target.
        Some agents expand `~`, others look for a file of that name.
        """
        if named.startswith("~"):
            if os.path.lexists(self.cwd / named.partition("/")[0]):
                raise UnreadableArguments("a path begins with '~', and a file has that name; write the whole path")
            named = str(Path(named).expanduser())
        path = self.cwd / named
        if ".." in path.parts and os.path.realpath(path) != os.path.realpath(os.path.normpath(path)):
            raise UnreadableArguments("a path goes up by '..' after a link; write the path without '..'")
        return named

    def _relative_folder(self, named: str = "") -> str:
        """The folder *named*, by default the agent's current folder, relative to the workspace."""
        below = os.path.relpath(os.path.realpath(self.cwd / self._require_unambiguous(named)), self.workspace)
        if below == ".." or below.startswith("../"):
            raise UnreadableArguments("the agent works outside of the workspace")
        return below


def _join_path(folder: str, path: str) -> str:
    return path or folder if folder == "." else f"{folder}/{path}".removesuffix("/")


Args = Mapping[str, Any]
Row = Callable[[Args, AgentContext], list[OurCall]]


def _join_command(command: object) -> str:
    if isinstance(command, str):
        return command
    if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        words: list[str] = command
        if len(words) == 3 and words[0] in {"bash", "sh", "zsh"} and words[1] in {"-c", "-lc"}:  # noqa: PLR2004 - a shell
            return words[2]
        return shlex.join(words)
    raise UnreadableArguments("the command is not text")


def _take_args(args: Args, known: str, ignored: str = "") -> Iterator[Any]:
    """The values of the arguments *known*. Arguments in *ignored* do not change which files the call touches."""
    strangers = sorted(set(args) - set(known.split()) - set(ignored.split()))
    if strangers:
        raise UnreadableArguments(f"the argument {strangers[0]!r} is not known")
    return (args.get(name) for name in known.split())


def _only_value(values: list[Any]) -> Any:
    """The only value of *values* that is given: versions of an agent have different names for one argument."""
    given = [value for value in values if value]
    if len(given) > 1:
        raise UnreadableArguments("one argument is given twice, under two names")
    return given[0] if given else None


def _shell(folder_keys: str, ignored: str = "timeout description") -> Row:
    """A shell line. *folder_keys* are the names of the argument for its folder in different versions of the agent."""

    def row(args: Args, context: AgentContext) -> list[OurCall]:
        command, *folders = _take_args(args, f"command {folder_keys}", ignored)
        return [OurCall("bash", {"command": context.line(command, _only_value(folders))})]

    return row


def _read(key: str, ignored: str = "offset limit") -> Row:
    def row(args: Args, context: AgentContext) -> list[OurCall]:
        (path,) = _take_args(args, key, ignored)
        return [OurCall("read_file", {"path": context.path(path)})]

    return row


def _write(path_key: str, content_key: str = "content") -> Row:
    def row(args: Args, context: AgentContext) -> list[OurCall]:
        path, content = _take_args(args, f"{path_key} {content_key}")
        return [OurCall("write_file", {"path": context.path(path), "content": content})]

    return row


def _edit(path_key: str, old_key: str, new_key: str, ignored: str = "") -> Row:
    def row(args: Args, context: AgentContext) -> list[OurCall]:
        path, old, new = _take_args(args, f"{path_key} {old_key} {new_key}", f"replace_all replaceAll {ignored}")
        if not isinstance(old, str) or not isinstance(new, str):
            raise UnreadableArguments("the old or the new text of an edit is not text")
        # For rules and guards, an edit counts as a write of the file; the agent finds the old text itself.
        return [OurCall("write_file", {"path": context.path(path), "content": new})]

    return row


def _multi_edit(args: Args, context: AgentContext) -> list[OurCall]:
    """Claude Code's `MultiEdit`."""
    path, edits = _take_args(args, "file_path edits")
    if not isinstance(edits, list):
        raise UnreadableArguments("the edits are not a list")
    return [
        call
        for edit in edits
        for call in _edit("file_path", "old_string", "new_string")({**edit, "file_path": path}, context)
    ]


def _notebook(args: Args, context: AgentContext) -> list[OurCall]:
    path, source = _take_args(args, "notebook_path new_source", "cell_id cell_type edit_mode cell_number")
    return [OurCall("write_file", {"path": context.path(path), "content": source or ""})]


def _list(key: str, ignored: str = "ignore file_filtering_options respect_git_ignore") -> Row:
    def row(args: Args, context: AgentContext) -> list[OurCall]:
        (path,) = _take_args(args, key, ignored)
        return [OurCall("list_files", {"path": context.path(path or ".")})]

    return row


def _search(tool: str, text_key: str, path_keys: str, ignored: str) -> Row:
    ours = {"glob": "globs", "grep": "query"}[tool]

    def row(args: Args, context: AgentContext) -> list[OurCall]:
        text, *paths = _take_args(args, f"{text_key} {path_keys}", ignored)
        path = _only_value(paths)
        if tool == "glob":  # rules decide by the folder that is searched, and a pattern may begin with a folder
            folder = Path(require_exact_path(path) if path else ".", pattern_folder(text) or ".")
            return [OurCall("list_files", {"path": context.path(str(folder))})]
        return [OurCall("grep", {ours: str(text), "literal": True, "path": context.path(path or ".")})]

    return row


def _fetch(key: str = "url", ignored: str = "prompt format timeout") -> Row:
    def row(args: Args, _context: AgentContext) -> list[OurCall]:
        (url,) = _take_args(args, key, ignored)
        return [OurCall("http_get", {"url": url})]

    return row


def _fetch_in_text(args: Args, _context: AgentContext) -> list[OurCall]:
    """Gemini's `web_fetch`, which has its URLs in the prompt."""
    (prompt,) = _take_args(args, "prompt")
    return [OurCall("http_get", {"url": url}) for url in find_urls(prompt)]


def _patch(key: str) -> Row:
    def row(args: Args, context: AgentContext) -> list[OurCall]:
        (text,) = _take_args(args, key, "explanation")
        if not isinstance(text, str):
            raise UnreadableArguments("the patch is not text")
        try:
            changes = parse_patch(text)
        except ValueError as error:
            raise UnreadableArguments(str(error)) from None
        calls: list[OurCall] = []
        for change in changes:
            path = context.path(change.path)
            if change.kind == "delete":
                calls.append(OurCall("delete_file", {"path": path}))
            else:
                calls.append(OurCall("write_file", {"path": path, "content": change.added}))
            if change.moved_to is not None:
                calls.append(OurCall("move_file", {"path": path, "to": context.path(change.moved_to)}))
        return calls

    return row


def _read_many(args: Args, context: AgentContext) -> list[OurCall]:
    """Gemini's `read_many_files`: each file is judged. Patterns are refused: the guard cannot see what they read."""
    paths, include = _take_args(args, "paths include", "exclude recursive useDefaultExcludes file_filtering_options")
    names = [*(paths or ()), *(include or ())]
    if not names or not all(isinstance(name, str) for name in names):
        raise UnreadableArguments("a path is missing or is not text")
    if any(is_pattern(name) for name in names):
        raise UnreadableArguments("a pattern may read hidden files; name each file")
    return [OurCall("read_file", {"path": context.path(name)}) for name in names]


def _pass_through(name: str) -> Row:
    """A tool that rules know by *name*, with all its arguments."""

    def row(args: Args, _context: AgentContext) -> list[OurCall]:
        return [OurCall(name, dict(args))]

    return row


def _codex_shell(args: Args, context: AgentContext) -> list[OurCall]:
    """Codex's shell. Codex applies a patch in a shell line by itself: rules for the line would not see the files."""
    command = args.get("command")
    text = " ".join(map(str, command)) if isinstance(command, list) else str(command)
    if BEGIN in text and re.search(r"apply_?patch", text):
        raise UnreadableArguments("the shell line has a patch; use the tool apply_patch")
    return _shell("workdir", "timeout timeout_ms justification")(args, context)


_PLAN, _AGENT, _WEB_SEARCH = _pass_through("plan"), _pass_through("agent"), _pass_through("web_search")
_SKILL, _BACKGROUND = _pass_through("skill"), _pass_through("background_output")
_GREP = "glob type output_mode multiline head_limit offset -i -n -A -B -C context include"

CLAUDE: Mapping[str, Row] = {
    "Bash": _shell("cwd", "timeout description run_in_background dangerouslyDisableSandbox"),
    "Read": _read("file_path", "offset limit pages allow_large"),
    "Write": _write("file_path"),
    "Edit": _edit("file_path", "old_string", "new_string"),
    "MultiEdit": _multi_edit,
    "NotebookEdit": _notebook,
    "Glob": _search("glob", "pattern", "path", ""),
    "Grep": _search("grep", "pattern", "path", _GREP),
    "LS": _list("path"),
    "WebFetch": _fetch(),
    "WebSearch": _WEB_SEARCH,
    "Agent": _AGENT,
    "Task": _AGENT,
    "Skill": _SKILL,
    **dict.fromkeys(("TodoWrite", "EnterPlanMode", "ExitPlanMode", "AskUserQuestion"), _PLAN),
    **dict.fromkeys(("ListAgents", "ToolSearch", "ReportFindings"), _PLAN),
    **dict.fromkeys(("BashOutput", "TaskOutput", "KillShell", "TaskStop"), _BACKGROUND),
}
# Hooks get `spawn_agent` without its namespace, and the other tools with it.
_CODEX_AGENTS = ("spawn_agent", "send_input", "resume_agent", "wait_agent", "close_agent")
CODEX: Mapping[str, Row] = {
    "Bash": _codex_shell,
    "apply_patch": _patch("command"),
    "view_image": _read("path", "detail"),
    "web_search": _WEB_SEARCH,
    **dict.fromkeys(("update_plan", "request_user_input", "get_goal", "create_goal", "update_goal"), _PLAN),
    **dict.fromkeys((*_CODEX_AGENTS, *(f"multi_agent_v1{name}" for name in _CODEX_AGENTS)), _AGENT),
}
GEMINI: Mapping[str, Row] = {
    "run_shell_command": _shell("dir_path", "description is_background delay_ms"),
    "read_file": _read("file_path", "offset limit start_line end_line"),
    "read_many_files": _read_many,
    "write_file": _write("file_path"),
    "replace": _edit("file_path", "old_string", "new_string", "expected_replacements instruction allow_multiple"),
    "list_directory": _list("dir_path"),
    "glob": _search("glob", "pattern", "dir_path", "case_sensitive respect_git_ignore respect_gemini_ignore"),
    "grep_search": _search(
        "grep",
        "pattern",
        "dir_path",
        f"{_GREP} include_pattern exclude_pattern names_only max_matches_per_file total_max_matches",
    ),
    "web_fetch": _fetch_in_text,
    "google_web_search": _WEB_SEARCH,
    "invoke_agent": _AGENT,
    "complete_task": _AGENT,  # the call by which a subagent ends
    **dict.fromkeys(("write_todos", "update_topic", "enter_plan_mode", "exit_plan_mode", "ask_user"), _PLAN),
    **dict.fromkeys(("list_background_processes", "read_background_output"), _BACKGROUND),
    "activate_skill": _SKILL,
}
OPENCODE: Mapping[str, Row] = {
    "bash": _shell("workdir"),
    "read": _read("filePath"),
    "write": _write("filePath"),
    "edit": _edit("filePath", "oldString", "newString"),
    "apply_patch": _patch("patchText"),
    "patch": _patch("patchText"),
    "list": _list("path"),
    "glob": _search("glob", "pattern", "path", ""),
    "grep": _search("grep", "pattern", "path", _GREP),
    "webfetch": _fetch(),
    "websearch": _WEB_SEARCH,
    "task": _AGENT,
    "skill": _SKILL,
    "todowrite": _PLAN,
    "todoread": _PLAN,
    "question": _PLAN,
}
CURSOR: Mapping[str, Row] = {
    "Shell": _shell("cwd working_directory"),
    "Read": _read("file_path"),
    "Write": _write("file_path"),
    "Delete": lambda args, context: [
        OurCall("delete_file", {"path": context.path(next(_take_args(args, "file_path")))})
    ],
    "Grep": _search("grep", "pattern", "path file_path", _GREP),
    "Task": _AGENT,
}
COPILOT: Mapping[str, Row] = {
    "bash": _shell("cwd", "description mode sessionId initial_wait"),
    "view": _read("path", "view_range"),
    "create": _write("path", "file_text"),
    "edit": _edit("path", "old_str", "new_str"),
    "glob": _search("glob", "pattern", "path", ""),
    "grep": _search("grep", "pattern", "path", _GREP),
    "web_fetch": _fetch(ignored="max_length start_index raw"),
    "web_search": _WEB_SEARCH,
    "task": _AGENT,
    **dict.fromkeys(("update_todo", "report_intent", "ask_user"), _PLAN),
}
OUR_TOOLS = frozenset(
    {
        *("bash", "read_file", "write_file", "move_file", "delete_file", "list_files", "grep", "http_get"),
        *("plan", "agent", "web_search", "skill", "background_output"),
    }
)
"""The tools that rows map to. A tool without a row, such as an MCP server's, must not have one of these names."""


def is_name(tool: str) -> bool:
    """Return whether *tool* is a valid name of a tool."""
    return _NAME.fullmatch(tool) is not None


def map_call(
    table: Mapping[str, Row],
    tool: str,
    args: object,
    context: AgentContext,
    is_ours: Callable[[str], bool] = OUR_TOOLS.__contains__,
) -> list[OurCall]:
    """Map a call of an agent's *tool* to calls of toolcharter's tools.

    A tool without a row must not have the name of a toolcharter tool. *is_ours* checks a name against the profile.

    Raises:
        UnreadableArguments: The arguments or the tool's name cannot be used.
    """
    if isinstance(args, str):  # Copilot sends JSON as text
        try:
            args = json.loads(args)
        except (ValueError, RecursionError):
            raise UnreadableArguments("the arguments are not JSON") from None
    if not isinstance(args, Mapping):
        raise UnreadableArguments("the arguments are not an object")
    given: Args = args
    row = table.get(tool)
    if row is not None:
        calls = row(given, context)
        if not calls:
            raise UnreadableArguments("the call asks for nothing")
        return calls
    if not is_name(tool):
        raise UnreadableArguments(f"{tool[:80]!r} is not a tool's name")
    if tool.lower() in OUR_TOOLS or is_ours(tool):
        raise UnreadableArguments("the profile's rules know another tool by this name")
    return [OurCall(tool, dict(given), "mcp" if tool.startswith(MCP) else "custom")]
