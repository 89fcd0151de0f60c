"""`ScenarioRun`: where one golden scenario plays, and what is written down of it.

Runs in an environment of its own, and uses what the package root, profiles and the command offer: the record must survive
any change of what lies behind them.
"""

import contextlib
import dataclasses
import io
import json
import re
import runpy
import sys
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any

from toolcharter import Caller, LiveToolbox, Toolbox, build_tools, open_live

Scenario = Callable[["ScenarioRun"], None]
SCENARIOS: dict[str, Scenario] = {}
_FRAMES = ('{"event":"toolbox.open"', '{"event":"toolbox.close"')
_MASKS = [
    (re.compile(r'"ts":"[^"]*"'), '"ts":"<ts>"'),
    (re.compile(r'"(elapsed_ms)":\s?[0-9.e+-]+'), r'"\1":"<ms>"'),
    (re.compile(r'"(expires|always_until)": ?"[^"]*"'), r'"\1":"<when>"'),
    (re.compile(r"\b[0-9a-f]{64}\b"), "<digest>"),
    (re.compile(r'"host":\{[^}]*\}'), '"host":"<host>"'),
    (re.compile(r'"toolcharter":"[^"]*"'), '"toolcharter":"<version>"'),
    (re.compile(r"approval [0-9a-f]{6,}"), "approval <id>"),
    (re.compile(r"approved it on \d{4}-\d\d-\d\d"), "approved it on <day>"),
]
_OWN_ID = re.compile(r"call-[0-9A-Za-z_-]{8,}")


def scenario(function: Scenario) -> Scenario:
    """Register a scenario under the name of its function."""
    name = function.__name__
    if name in SCENARIOS:
        raise ValueError(f"two scenarios are named {name!r}")
    SCENARIOS[name] = function
    return function


class ScenarioRun:
    """One scenario: a workspace, a profile, toolboxes whose events go to a file, and the record."""

    def __init__(self, folder: Path, said: str) -> None:
        self.folder = folder
        self.workspace = folder / "ws"
        self.workspace.mkdir(parents=True)
        self.events = folder / "events.jsonl"
        self.shows_frames = False
        self.masks_waits = False
        self.kept_events: int | None = None
        self._lines = [f"# {said}"]
        self._toolboxes: list[Any] = []

    def profile(self, tools: Mapping[str, Any], **settings: Any) -> str:
        """Write the profile `golden`; one key or entry stands on each line, so that places are told apart."""
        text = json.dumps({"profile": "golden", "tools": tools, **settings}, indent=1)
        file = self.folder / "golden.yaml"
        file.write_text(text)
        self.note("profile", text)
        return str(file)

    def open(
        self, *tools: str, approver: Any = None, caller: Caller | None = None, events: Any = None, **settings: Any
    ) -> Toolbox:
        """A toolbox of *tools* without policies, or of the setting `tools`."""
        given = settings.pop("tools", None) or {name: {} for name in tools}
        if "events_" in settings:
            settings["events"] = settings.pop("events_")
        sinks = f"file:{self.events}" if events is None else events
        toolbox = build_tools(
            self.profile(given, **settings), workspace=self.workspace, caller=caller, events=sinks, approver=approver
        )
        self._toolboxes.append(toolbox)
        return toolbox

    def open_live(self, *tools: str, **settings: Any) -> LiveToolbox:
        """The toolbox of a session."""
        profile = self.profile({name: {} for name in tools}, **settings)
        live = open_live(profile, workspace=self.workspace, events=f"file:{self.events}")
        self._toolboxes.append(live)
        return live

    def call(self, toolbox: Any, tool: str, args: Mapping[str, Any], **ids: Any) -> None:
        """Make one call and write down what came of it."""
        self._note_outcome(f"call {tool} {_describe_args(args)}", lambda: toolbox.call(tool, args, **ids))

    async def acall(self, toolbox: Any, tool: str, args: Mapping[str, Any], **ids: Any) -> None:
        """The same from asynchronous code."""
        with self._noted(f"acall {tool} {_describe_args(args)}") as note:
            note(await toolbox.acall(tool, args, **ids))

    def decide(self, toolbox: Any, tool: str, args: Mapping[str, Any]) -> None:
        """Write down what the call would meet."""
        self._note_outcome(f"decide {tool} {_describe_args(args)}", lambda: toolbox.decide(tool, args))

    async def adecide(self, toolbox: Any, tool: str, args: Mapping[str, Any]) -> None:
        """The same from asynchronous code."""
        with self._noted(f"adecide {tool} {_describe_args(args)}") as note:
            note(await toolbox.adecide(tool, args))

    def explain(self, tool: str, args: Mapping[str, Any], *words: str) -> None:
        """Write down what `toolcharter explain --json` prints of a call under the last profile."""
        command = ["explain", tool, "--args", json.dumps(args), "--profile", str(self.folder / "golden.yaml"), "--json"]
        command += ["--workspace", str(self.workspace), "--events", "file:/dev/null", *words]
        printed, status = _run_command(command)
        self.note(
            f"explain {tool} {_describe_args(args)} {' '.join(words)}".rstrip(), f"exit status {status}\n{printed}"
        )

    def note(self, title: str, value: Any = "") -> None:
        """Write one part of the record."""
        self._lines.append(f"## {title}")
        if value != "":
            self._lines.append(value if isinstance(value, str) else _to_json(value))

    def _note_outcome(self, title: str, act: Callable[[], Any]) -> None:
        with self._noted(title) as note:
            note(act())

    @contextlib.contextmanager
    def _noted(self, title: str) -> Generator[Callable[[Any], None]]:
        held: list[Any] = []
        try:
            yield held.append
        except BaseException as error:  # noqa: BLE001 - that it comes out is what is written down
            self.note(title, f"raised {type(error).__name__}: {error}".rstrip(": "))
        else:
            self.note(title, held[0])

    def close(self) -> None:
        """Close the toolboxes."""
        for toolbox in self._toolboxes:
            toolbox.close()

    def record(self) -> str:
        """All that was written down, with the events, masked."""
        lines = self.events.read_text().splitlines() if self.events.exists() else []
        shown = [line for line in lines if self.shows_frames or not line.startswith(_FRAMES)]
        if self.kept_events is not None:
            shown = [f"({len(shown)} lines, of which the first {self.kept_events})", *shown[: self.kept_events]]
        return self._masked("\n".join([*self._lines, "## events", *shown]) + "\n")

    def _masked(self, text: str) -> str:
        text = text.replace(str(self.folder), "<tmp>").replace(str(Path.home()), "<home>")
        for pattern, mask in _MASKS:
            text = pattern.sub(mask, text)
        if self.masks_waits:
            text = re.sub(r"\b[0-9]+(\.[0-9]+)? (s|seconds|minutes)\b", "<wait>", text)
        known: dict[str, str] = {}
        return _OWN_ID.sub(lambda found: known.setdefault(found[0], f"<call {len(known) + 1}>"), text)


def _run_command(command: list[str]) -> tuple[str, Any]:
    """What `python -m toolcharter` prints, run in this process, and its exit status."""
    held, out, status = sys.argv, io.TextIOWrapper(io.BytesIO(), write_through=True), None
    sys.argv = ["toolcharter", *command]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            runpy.run_module("toolcharter", run_name="__main__", alter_sys=False)
    except SystemExit as end:
        status = end.code
    finally:
        sys.argv = held
    out.seek(0)
    return out.read().strip(), status


def _describe_args(args: Any) -> str:
    return json.dumps(args) if isinstance(args, dict) else type(args).__name__


def _to_json(value: Any) -> str:
    """A result, a decision, a request: all fields, in their order."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    elif isinstance(value, tuple) and (fields := getattr(value, "_fields", None)):
        value = {field: getattr(value, field) for field in fields}
    return json.dumps(value, indent=1, ensure_ascii=False, default=_to_plain)


def _to_plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    return dict(value) if isinstance(value, Mapping) else str(value)
