"""A toolbox from a profile's text and stand-in tools: what sample rows that carry a policy are held against."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.cases.shell_tree import Lines

from toolcharter import Invocation, Toolbox, ToolPolicy, ToolSpec
from toolcharter.errors import ConfigurationError
from toolcharter.gate.build.open import Plan, open_toolbox
from toolcharter.loader.hooks import new_manager
from toolcharter.loader.load import LoadedPlugins, LoadedTool
from toolcharter.policy.compile import build_catalog, find_unknown_names
from toolcharter.profile.read import read_profile


class SampleCall(NamedTuple):
    """One call of a stand-in tool."""

    spec: ToolSpec[Any]
    args: Mapping[str, Any]


def make_tool(name: str, kind: str = "builtin", arguments: Iterable[str] = (), **facts: Any) -> ToolSpec[ToolPolicy]:
    """A tool that does nothing; it takes any action and *arguments*, each of any type."""

    def tool(action: str | None = None, **args: Any) -> str:
        return f"{name} ran"

    properties = {"action": {"type": ["string", "null"]}, **{argument: {} for argument in arguments}}
    parameters = {"type": "object", "properties": properties, "additionalProperties": False}
    return ToolSpec(name, ToolPolicy, lambda *_: tool, kind=kind, parameters=parameters, **facts)  # type: ignore[arg-type]


def bash_tool() -> ToolSpec[ToolPolicy]:
    """A shell that runs nothing, and whose lines rules see."""

    def bash(command: str) -> str:
        return f"ran {command}"

    return ToolSpec(
        "bash", ToolPolicy, lambda *_: bash, kind="bash", invocation=lambda args: Invocation(None, (args["command"],))
    )


def sample_call(tool_type: str, invocation: str) -> SampleCall:
    """The call that sample set 000 writes as a type and an invocation, as a call of one of our tools."""
    if tool_type == "bash":
        return SampleCall(bash_tool(), {"command": invocation})
    if tool_type == "mcp":
        return SampleCall(make_tool("mcp__" + invocation.replace(":", "__"), "mcp"), {})
    name, colon, action = invocation.partition(":")
    return SampleCall(make_tool(name, tool_type), {"action": action} if colon else {})


def tools_named_in(patterns: list[str]) -> Iterator[ToolSpec[Any]]:
    """Stand-ins for the tools that patterns name, so that they are no unknown names."""
    for pattern in patterns:
        found = re.match(r"(builtin|cli|custom):([A-Za-z0-9_-]+)(?::|$)", pattern)
        if found:
            yield make_tool(found[2], found[1])


class Bench:
    """Opens toolboxes in one folder; each is closed at the end."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "ws"
        self.workspace.mkdir()
        self.folder = folder / "profiles"
        self.folder.mkdir()
        self.events: list[dict[str, Any]] = []
        self.opened: list[Toolbox] = []

    def write(self, name: str, text: str | Mapping[str, Any]) -> Path:
        """A file beside the profiles, as it stands or as JSON, which is YAML."""
        file = self.folder / f"{name}.yaml"
        file.write_text(text if isinstance(text, str) else json.dumps(text))
        return file

    def write_workspace_policy(self, text: str | Mapping[str, Any]) -> None:
        """The workspace's own file."""
        file = self.workspace / ".toolcharter/policy.yaml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text if isinstance(text, str) else json.dumps(text))

    def open(self, profile: Path | Mapping[str, Any], *specs: ToolSpec[Any], **given: Any) -> Toolbox:
        """The toolbox of a profile that lists *specs*; the first of two with one name is the tool.

        Raises:
            ConfigurationError: As `build_tools` would.
        """
        tools = {spec.name: spec for spec in reversed(specs)}
        chosen = profile if isinstance(profile, Path) else self.write("p", {"profile": "p", **profile})
        source = read_profile(chosen)
        if source.profile is None or source.faults:
            raise ConfigurationError(source.faults)
        manager = new_manager()
        for name, plugin in given.pop("plugins", {}).items():
            manager.register(plugin, name)
        installed = {
            name: LoadedTool(tools[name], "toolcharter-test", "1") for name in dict.fromkeys(s.name for s in specs)
        }
        aliases = {alias: spec.name for spec in specs for alias in spec.aliases}
        loaded = LoadedPlugins(installed, {}, aliases, {"toolcharter-test": "1"}, manager, (), {})
        faults = [
            *find_unknown_names(source.profile, (), build_catalog(source.profile, tools.values()), (), source.places.of)
        ]
        if faults:
            raise ConfigurationError(faults)
        plan = Plan(source.profile, loaded, {name: ToolPolicy() for name in installed}, {})
        given.setdefault("sinks", [self.events.append])
        given.setdefault("caller", None)
        toolbox = open_toolbox(plan, workspace=self.workspace, **given)
        self.opened.append(toolbox)
        return toolbox

    def verdict(
        self, profile: Path | Mapping[str, Any], use: SampleCall, patterns: list[str]
    ) -> tuple[str, str | None]:
        """What a call meets, by dry run and in earnest: allow, ask, deny or error, and where.

        An `error` is a toolbox that is not built.
        """
        try:
            toolbox = self.open(profile, use.spec, *tools_named_in(patterns))
        except ConfigurationError:
            return "error", None
        decision = toolbox.decide(use.spec.name, use.args)
        result = toolbox.call(use.spec.name, use.args)
        if decision.outcome == "ask":
            assert (result.outcome, result.reason) == ("denied", "approval_unavailable")
        else:
            assert result.outcome == {"allow": "ok", "deny": "denied"}[decision.outcome]
            assert result.reason == decision.reason
        return decision.outcome, decision.stage


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("TOOLCHARTER_ADMIN_POLICY", "ALLOWED_TOOL_PERMS"):
        monkeypatch.delenv(name, raising=False)
    made = Bench(tmp_path)
    yield made
    for toolbox in made.opened:
        toolbox.close()


@pytest.fixture(scope="session")
def decision_on(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """What a line meets with the real `bash` of a profile: `decision_on(profile, line)`."""
    lines = Lines(tmp_path_factory.mktemp("lines"))
    yield lines
    lines.close()
