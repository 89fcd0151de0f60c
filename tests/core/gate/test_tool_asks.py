"""A tool may want a person's word for a call, whatever its profile allows; with nobody to give it, the call is denied."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from toolcharter import (
    ApprovalRequest,
    Ask,
    Call,
    Caller,
    ExtensionPolicy,
    ExtensionSpec,
    Toolbox,
    ToolPolicy,
    ToolRuntime,
    ToolSpec,
    VirtualFile,
    hookimpl,
)
from toolcharter.api.approval import Answer
from toolcharter.gate.build.open import open_toolbox
from toolcharter.loader.load import LoadedExtension
from toolcharter.profile.model import Limits
from toolcharter.testing.toolboxes import plan_of


class Guarded(ToolPolicy):
    """Which word needs a person."""

    word: str = "fire"


def build(_workspace: Path, _policy: Guarded, _rt: ToolRuntime) -> Callable[[str], str]:
    def say(text: str) -> str:
        """Say it."""
        return text

    return say


def asks(policy: Guarded, call: Call) -> Ask | None:
    return Ask("dangerous_word", f"It says {policy.word!r}.") if policy.word in call.args["text"] else None


SAY = ToolSpec("say", Guarded, build, reasons={"dangerous_word"}, capabilities={"text"}, safety="low", asks=asks)
OTHER = ToolSpec("other", Guarded, build, capabilities={"text"}, safety="low")


@pytest.fixture
def box(tmp_path: Path) -> Callable[..., Toolbox]:
    def make(answer: Answer | None = None, policy: dict[str, Any] | None = None) -> Toolbox:
        plan = plan_of((SAY, OTHER), {"say": policy or {}}, Limits(), "test")
        asked = None if answer is None else (lambda request: answer)
        return open_toolbox(plan, workspace=tmp_path, caller=None, sinks=[], approver=asked)

    return make


def test_nobody_there_is_a_denial(box: Callable[..., Toolbox]) -> None:
    with box() as tools:
        result = tools.call("say", {"text": "fire"})

    assert (result.outcome, result.reason) == ("denied", "approval_unavailable")


@pytest.mark.parametrize(("answer", "outcome"), [("allow_once", "ok"), ("deny", "denied")])
def test_a_person_decides(box: Callable[..., Toolbox], answer: str, outcome: str) -> None:
    with box(answer) as tools:
        assert tools.call("say", {"text": "fire"}).outcome == outcome


def test_other_calls_and_other_tools_are_not_asked_about(box: Callable[..., Toolbox]) -> None:
    """And the policy is the tool's own."""
    with box(policy={"word": "smoke"}) as tools:
        assert [tools.call(name, {"text": text}).outcome for name, text in (("say", "fire"), ("other", "smoke"))] == [
            "ok",
            "ok",
        ]
        assert tools.call("say", {"text": "smoke"}).outcome == "denied"


def test_it_is_decided_without_a_run_and_never_agreed_to_for_good(tmp_path: Path) -> None:
    """A dry run says that it would ask; an answer that is kept does not stand for the next one."""
    questions: list[ApprovalRequest] = []

    def answer(request: ApprovalRequest) -> Answer:
        questions.append(request)
        return "allow_always"

    plan = plan_of((SAY,), {}, Limits(), "test")
    with open_toolbox(plan, workspace=tmp_path, caller=None, sinks=[], approver=answer) as tools:
        decision = tools.decide("say", {"text": "fire"})
        assert (decision.outcome, decision.stage, decision.reason) == ("ask", "check", "dangerous_word")
        assert [tools.call("say", {"text": "fire"}).outcome for _ in range(2)] == ["ok", "ok"]

    assert [one.message for one in questions] == ["It says 'fire'."] * 2


class Shelf(VirtualFile):
    """A file that is kept in a list, and changed only with a person's word."""

    def __init__(self, name: str, kept: list[str]) -> None:
        self.asks = Ask("dangerous_file", f"{name} is to be changed.")
        self.kept = kept

    def read(self) -> bytes:
        return self.kept[-1].encode()

    def write(self, data: bytes, before: bytes | None, /) -> None:
        self.kept.append(data.decode())


class Shelves:
    """An extension that keeps two files of the workspace."""

    def __init__(self, kept: list[str]) -> None:
        self._kept = kept

    @hookimpl
    def route_path(self, path: str, caller: Caller, rt: ToolRuntime) -> VirtualFile | None:
        return Shelf(path, self._kept) if path in {"a.md", "b.md"} else None


def write_spec(
    name: str, *, staged: bool, capabilities: set[str] | None, within: str | None = None, **more: Any
) -> ToolSpec[Any]:
    """A tool that writes a file, in a child call of its own if *within* names one."""

    def build_writer(_workspace: Path, _policy: ToolPolicy, rt: ToolRuntime) -> Callable[[str], str]:
        def write(path: str) -> str:
            """Write it."""
            ctx = rt.start(name)
            if within is not None:
                rt.start(within)
            with rt.paths.open_place(path) as place:
                ctx.policy_passed()
                place.write(b"new")
            return ctx.ok("written")

        return write

    return ToolSpec(name, ToolPolicy, build_writer, capabilities=capabilities, safety="low", staged=staged, **more)


WRITERS = (
    write_spec("declared", staged=True, capabilities={"fs:write"}),
    write_spec("undeclared", staged=True, capabilities=None),
    write_spec("nested", staged=True, capabilities={"fs:write"}, within="part"),
    write_spec(
        "checked",
        staged=True,
        capabilities={"fs:write"},
        asks=lambda *_: Ask("other_word", "It is late."),
        reasons={"other_word"},
    ),
    write_spec("unstaged", staged=False, capabilities={"fs:write"}),
    write_spec("lying", staged=True, capabilities={"fs:read"}),
)
Routed = Callable[..., Toolbox]


@pytest.fixture
def kept() -> list[str]:
    return ["old"]


@pytest.fixture
def routed(tmp_path: Path, kept: list[str]) -> Routed:
    """A toolbox of all these tools, in whose workspace `a.md` and `b.md` are kept in the list."""

    def make(answer: Callable[[ApprovalRequest], Answer] | None = None) -> Toolbox:
        plan = plan_of(WRITERS, {}, Limits(), "test")
        shelves = LoadedExtension(ExtensionSpec("shelves", ExtensionPolicy, lambda *_: Shelves(kept)), "t", "1", "t")
        loaded = plan.loaded._replace(extension_specs={"shelves": shelves})
        plan = replace(plan, loaded=loaded, extensions={"shelves": ExtensionPolicy()})
        return open_toolbox(plan, workspace=tmp_path, caller=None, sinks=[], approver=answer)

    return make


@pytest.mark.parametrize("tool", ["declared", "undeclared", "nested"])
def test_a_virtual_file_is_changed_with_a_persons_word(
    routed: Routed, tool: str, tmp_path: Path, kept: list[str]
) -> None:
    """By whatever path it is named, links included; the file on the disk beside it needs nobody."""
    (tmp_path / "link.md").symlink_to("a.md")
    (tmp_path / "a.md").write_text("on the disk")
    questions: list[ApprovalRequest] = []

    def answer(request: ApprovalRequest) -> Answer:
        questions.append(request)
        return "allow_once" if request.args["path"] == "link.md" else "deny"

    with routed() as alone, routed(answer) as asking:
        decision = alone.decide(tool, {"path": "link.md"})
        ended = [(box.call(tool, {"path": path})) for box, path in ((alone, "a.md"), (asking, "a.md"), (alone, "c.md"))]
        assert kept == ["old"]
        agreed = asking.call(tool, {"path": "link.md"})

    assert (decision.outcome, decision.stage, decision.reason) == ("ask", "check", "dangerous_file")
    assert [one.reason for one in (*ended, agreed)] == ["approval_unavailable", "approval_denied", None, None]
    assert [one.message for one in questions] == ["a.md is to be changed."] * 2
    assert (kept, (tmp_path / "a.md").read_text()) == (["old", "new"], "on the disk")


def test_who_is_asked_by_a_check_reads_what_the_file_asks(routed: Routed, kept: list[str]) -> None:
    """One answer is for both."""
    questions: list[ApprovalRequest] = []

    def answer(request: ApprovalRequest) -> Answer:
        questions.append(request)
        return "allow_once"

    with routed(answer) as tools:
        outcomes = [tools.call("checked", {"path": path}).outcome for path in ("a.md", "c.md")]

    assert (outcomes, kept) == (["ok", "ok"], ["old", "new"])
    assert [one.reason for one in questions] == ["other_word"] * 2
    assert [one.message for one in questions] == ["It is late. a.md is to be changed.", "It is late."]


@pytest.mark.parametrize("tool", ["unstaged", "lying"])
def test_what_cannot_be_rehearsed_changes_no_such_file(routed: Routed, tool: str, kept: list[str]) -> None:
    """And what does not say that it writes: nobody is asked, so that nobody has agreed."""
    with routed(lambda _: "allow_once") as tools:
        result = tools.call(tool, {"path": "a.md"})

    assert (result.outcome, result.reason) == ("denied", "approval_unavailable")
    assert "none was asked. a.md is to be changed." in result.text
    assert kept == ["old"]


def test_an_answer_is_for_the_file_that_was_shown(routed: Routed, tmp_path: Path, kept: list[str]) -> None:
    """A link that leads to another file once the person has agreed makes the approval void."""
    link = tmp_path / "link.md"
    link.symlink_to("a.md")

    def answer(_: ApprovalRequest) -> Answer:
        link.unlink()
        link.symlink_to("b.md")
        return "allow_once"

    with routed(answer) as tools:
        result = tools.call("declared", {"path": "link.md"})

    assert (result.outcome, result.reason, kept) == ("denied", "approval_denied", ["old"])
