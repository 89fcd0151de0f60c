"""`llm`: a chain with a scripted model, and the command line with a model of a plugin."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from pathlib import Path
from runpy import run_path
from typing import Any

import llm
import pytest

from toolcharter import ApprovalAnswer, Caller
from toolcharter.hosts import PendingApproval
from toolcharter_llm import Ask, AsyncAsk, allm_tools, llm_tools

from .contract import Adapter, Call, HostContract, Place, SeenResult, SynchronousContract
from .readme import run_readme

EXAMPLE = Path(__file__).parents[2] / "examples" / "hosts" / "llm.py"


class Scripted(llm.Model):
    """Says what *turn* makes of the results so far: calls, or a text."""

    model_id = "scripted"
    supports_tools = True
    can_stream = False

    def __init__(self, turn: Callable[[Sequence[llm.ToolResult]], Sequence[Call] | str]) -> None:
        self._turn = turn
        self.seen = list[llm.ToolResult]()

    def execute(
        self, prompt: llm.Prompt, stream: Any, response: llm.Response, conversation: Any, key: Any = None
    ) -> Iterator[str]:
        self.seen += prompt.tool_results
        said = self._turn(self.seen)
        if isinstance(said, str):
            yield said
        else:
            for call in said:
                response.add_tool_call(llm.ToolCall(name=call.name, arguments=call.args, tool_call_id=call.id))
            yield ""


class Chain(Adapter):
    """A chain."""

    answers_unknown = True

    async def run(self, calls: Sequence[Call]) -> list[SeenResult]:
        return await asyncio.to_thread(self._run, calls, None)

    async def answer(self, call: Call, *, granted: bool) -> SeenResult:
        def ask(pending: PendingApproval) -> ApprovalAnswer:
            assert pending.request.args == call.args
            return ApprovalAnswer("allow_once" if granted else "deny")

        [seen] = await asyncio.to_thread(self._run, [call], ask)
        return seen

    def _run(self, calls: Sequence[Call], ask: Ask | None) -> list[SeenResult]:
        model = Scripted(lambda results: "done" if results else calls)
        assert model.chain("go", tools=[*llm_tools(self.host, ask=ask)]).text() == "done"
        assert [result.tool_call_id for result in model.seen] == [call.id for call in calls]
        return [SeenResult(result.output, None) for result in model.seen]


class TestChain(SynchronousContract):
    """A chain."""

    adapter = Chain


class AsyncScripted(llm.AsyncModel):
    """Asks for *calls*, then says "done"."""

    model_id = "scripted"
    supports_tools = True
    can_stream = False

    def __init__(self, calls: Sequence[Call]) -> None:
        self._calls = calls
        self.seen = list[llm.ToolResult]()

    async def execute(
        self, prompt: llm.Prompt, stream: Any, response: llm.AsyncResponse, conversation: Any, key: Any = None
    ) -> AsyncGenerator[str, None]:
        self.seen += prompt.tool_results
        for call in () if prompt.tool_results else self._calls:
            response.add_tool_call(llm.ToolCall(name=call.name, arguments=call.args, tool_call_id=call.id))
        yield "done" if prompt.tool_results else ""


class AsyncChain(Adapter):
    """A chain of an asynchronous model."""

    answers_unknown = True

    async def run(self, calls: Sequence[Call]) -> list[SeenResult]:
        return await self._run(calls, None)

    async def answer(self, call: Call, *, granted: bool) -> SeenResult:
        async def ask(pending: PendingApproval) -> ApprovalAnswer:
            assert pending.request.args == call.args
            return ApprovalAnswer("allow_once" if granted else "deny")

        [seen] = await self._run([call], ask)
        return seen

    async def _run(self, calls: Sequence[Call], ask: AsyncAsk | None) -> list[SeenResult]:
        model = AsyncScripted(calls)
        assert await model.chain("go", tools=[*allm_tools(self.host, ask=ask)]).text() == "done"
        found = {result.tool_call_id: result.output for result in model.seen}
        return [SeenResult(found[call.id], None) for call in calls]


class TestAsyncChain(HostContract):
    """A chain of an asynchronous model."""

    adapter = AsyncChain


@pytest.fixture
def place(tmp_path: Any) -> Place:
    return Place(tmp_path)


def test_caller_and_no_person_to_ask(place: Place) -> None:
    """Without `ask` the model reads why the call did not run."""
    model = Scripted(lambda results: "done" if results else [Call("delete_file", {"path": "notes.txt"})])
    with place.open() as host:
        model.chain("go", tools=[*llm_tools(host, caller=Caller(agent="a"))]).text()

    assert "approval_unavailable" in model.seen[0].output
    assert (place.workspace / "notes.txt").exists()
    assert {event["agent"] for event in place.events()} == {"a"}


PLUGIN = """
import llm


class Scripted(llm.Model):
    model_id = "scripted"
    supports_tools = True
    can_stream = False

    def execute(self, prompt, stream, response, conversation=None, key=None):
        if prompt.tool_results:
            yield " / ".join(result.output for result in prompt.tool_results)
            return
        for number, path in enumerate(["notes.txt", "../x"]):
            call = llm.ToolCall(name="read_file", arguments={"path": path}, tool_call_id=f"c{number}")
            response.add_tool_call(call)
        yield ""


@llm.hookimpl
def register_models(register):
    register(Scripted())
"""


def test_command_line(place: Place, tmp_path: Path) -> None:
    """`llm -T 'Toolcharter(...)'` finds the plugin, and its calls leave events."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "scripted_model.py").write_text(PLUGIN)
    info = site / "scripted_model-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: scripted-model\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[llm]\nscripted = scripted_model\n")
    lines = tmp_path / "cli.jsonl"
    asked = f'Toolcharter(profile="{place.profile}", workspace="{place.workspace}", events="file:{lines}")'

    done = subprocess.run(
        [sys.executable, "-m", "llm", "-m", "scripted", "--no-log", "-T", asked, "go"],
        env={**os.environ, "PYTHONPATH": str(site), "LLM_USER_PATH": str(tmp_path / "user")},
        cwd=place.workspace,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "first" in done.stdout
    assert "path_outside_workspace" in done.stdout
    ends = [json.loads(line)["outcome"] for line in lines.read_text().splitlines() if '"hook.tool.after"' in line]
    assert ends == ["ok", "denied"]


def test_example(place: Place) -> None:
    """The loop of `examples/hosts`: the model sees the reason and goes on."""
    converse = run_path(str(EXAMPLE))["converse"]
    steps = [{"path": "notes.txt"}, {"path": "/etc/passwd"}]

    def turn(results: Sequence[llm.ToolResult]) -> Sequence[Call] | str:
        if len(results) < len(steps):
            return [Call("read_file", steps[len(results)], f"c{len(results)}")]
        return " / ".join(result.output for result in results)

    said = converse(place.workspace, Scripted(turn))

    assert "first" in said
    assert "path_outside_workspace" in said


def test_readme(place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The snippet works."""
    call = Call("read_file", {"path": "notes.txt"})
    model = Scripted(lambda results: results[0].output if results else [call])

    run_readme("llm", place, monkeypatch, model=model)

    assert "first" in capsys.readouterr().out
