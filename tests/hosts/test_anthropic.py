"""Anthropic: the real client against a server on the loopback."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest
from anthropic import Anthropic, AsyncAnthropic

from toolcharter import ApprovalAnswer, Caller
from toolcharter.hosts import Host, PendingApproval
from toolcharter_anthropic import aanswer_tool_uses, answer_tool_uses, anthropic_tools

from .contract import Adapter, Call, HostContract, Place, SeenResult, SynchronousContract
from .readme import run_readme
from .servers import serving

EXAMPLE = Path(__file__).parents[2] / "examples" / "hosts" / "anthropic.py"


def _message(content: list[dict[str, Any]], stop_reason: str = "tool_use") -> dict[str, Any]:
    """An answer of the interface. Source: Anthropic, "Create a Message"."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def _script(calls: Sequence[Call]) -> Any:
    """A model that asks for *calls* at once, with a word before them."""
    uses = [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.args} for call in calls]
    return lambda _path, _body: _message([{"type": "text", "text": "Let me see."}, *uses])


class Messages(Adapter):
    """A loop over messages."""

    async def run(self, calls: Sequence[Call]) -> list[SeenResult]:
        return await self._turn(calls, None)

    async def answer(self, call: Call, *, granted: bool) -> SeenResult:
        async def ask(pending: PendingApproval) -> ApprovalAnswer:
            assert pending.request.args == call.args
            return ApprovalAnswer("allow_once" if granted else "deny")

        [seen] = await self._turn([call], ask)
        return seen

    async def _turn(self, calls: Sequence[Call], ask: Any) -> list[SeenResult]:
        with serving(_script(calls)) as server:
            async with AsyncAnthropic(base_url=server.url, api_key="none", max_retries=0) as client:
                message = await client.messages.create(
                    model="scripted",
                    max_tokens=1,
                    messages=[{"role": "user", "content": "go"}],
                    tools=anthropic_tools(self.host),
                )
                blocks: list[Any] = await aanswer_tool_uses(self.host, message, ask=ask)
        assert [(block["type"], block["tool_use_id"]) for block in blocks] == [("tool_result", one.id) for one in calls]
        return [SeenResult(block["content"], block["is_error"]) for block in blocks]


class SynchronousMessages(Messages):
    """The same without an event loop."""

    async def answer(self, call: Call, *, granted: bool) -> SeenResult:
        [seen] = await self._turn([call], lambda _: ApprovalAnswer("allow_once" if granted else "deny"))
        return seen

    async def _turn(self, calls: Sequence[Call], ask: Any) -> list[SeenResult]:
        def turn() -> list[Any]:
            with serving(_script(calls)) as server, Anthropic(base_url=server.url, api_key="none") as client:
                sent: list[Any] = [{"role": "user", "content": "go"}]
                message = client.messages.create(model="scripted", max_tokens=1, messages=sent)
                return answer_tool_uses(self.host, message, ask=ask)

        return [SeenResult(block["content"], block["is_error"]) for block in await asyncio.to_thread(turn)]


class TestSynchronousMessages(SynchronousContract):
    """The messages interface, in synchronous code."""

    adapter = SynchronousMessages


class TestMessages(HostContract):
    """The messages interface."""

    adapter = Messages


@pytest.fixture
def place(tmp_path: Any) -> Place:
    return Place(tmp_path)


@pytest.fixture
def host(place: Place) -> Any:
    with place.open() as opened:
        yield opened


@pytest.mark.parametrize("granted", [True, False])
def test_synchronous_client(host: Host, place: Place, *, granted: bool) -> None:
    """The same without an event loop; a person is asked about what needs one."""
    calls = [Call("read_file", {"path": "notes.txt"}, "a"), Call("delete_file", {"path": "secret.txt"}, "b")]

    def ask(pending: PendingApproval) -> ApprovalAnswer:
        assert pending.request.tool == "delete_file"
        return ApprovalAnswer("allow_once" if granted else "deny")

    with serving(_script(calls)) as server, Anthropic(base_url=server.url, api_key="none") as client:
        sent = [{"role": "user", "content": "go"}]
        message = client.messages.create(model="scripted", max_tokens=1, messages=sent, tools=anthropic_tools(host))  # type: ignore[arg-type]
        blocks = answer_tool_uses(host, message, caller=Caller(agent="a"), ask=ask)
        shown = server.asked[0]["tools"]

    assert [block["is_error"] for block in blocks] == [False, not granted]
    assert (place.workspace / "secret.txt").exists() is not granted
    assert [tool["name"] for tool in shown] == ["read_file", "delete_file", "bash"]
    assert shown[0]["input_schema"]["required"] == ["path"]
    assert {event["agent"] for event in place.events()} == {"a"}


def test_no_person_to_ask(host: Host, place: Place) -> None:
    """Without `ask` the model reads why the call did not run."""
    script = _script([Call("delete_file", {"path": "notes.txt"})])
    with serving(script) as server, Anthropic(base_url=server.url, api_key="none") as client:
        message = client.messages.create(model="scripted", max_tokens=1, messages=[{"role": "user", "content": "go"}])
        [block] = answer_tool_uses(host, message)

    assert block["is_error"]
    assert "approval_unavailable" in str(block["content"])
    assert (place.workspace / "notes.txt").exists()


def test_tools_that_anthropic_runs_are_left_alone(host: Host, place: Place) -> None:
    """Their results are in the message already."""
    use = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}}
    with serving(lambda *_: _message([use])) as server, Anthropic(base_url=server.url, api_key="none") as client:
        message = client.messages.create(model="scripted", max_tokens=1, messages=[{"role": "user", "content": "go"}])

        assert answer_tool_uses(host, message) == []
    assert place.events() == []


def test_example(place: Place) -> None:
    """The loop of `examples/hosts`: the model sees the reason and goes on."""
    converse = run_path(str(EXAMPLE))["converse"]
    steps = [{"path": "notes.txt"}, {"path": "/etc/passwd"}]

    def script(_path: str, body: dict[str, Any]) -> dict[str, Any]:
        blocks = [
            block for message in body["messages"][1:] if message["role"] == "user" for block in message["content"]
        ]
        if len(blocks) < len(steps):
            use = {"type": "tool_use", "id": f"c{len(blocks)}", "name": "read_file", "input": steps[len(blocks)]}
            return _message([use])
        text = " / ".join(f"{block['is_error']}: {block['content']}" for block in blocks)
        return _message([{"type": "text", "text": text}], "end_turn")

    with serving(script) as server, Anthropic(base_url=server.url, api_key="none") as client:
        said = converse(client, "scripted", place.workspace)

    assert "False: " in said
    assert "first" in said
    assert "True: ERROR: denied_by_policy reason=path_outside_workspace" in said


def test_readme(place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The snippet works with the real client."""

    def script(_path: str, body: dict[str, Any]) -> dict[str, Any]:
        if len(body["messages"]) == 1:
            use = {"type": "tool_use", "id": "c", "name": "read_file", "input": {"path": "notes.txt"}}
            return _message([use])
        return _message([{"type": "text", "text": body["messages"][2]["content"][0]["content"]}], "end_turn")

    with serving(script) as server, Anthropic(base_url=server.url, api_key="none") as client:
        run_readme("anthropic", place, monkeypatch, client=client)

    assert "first" in capsys.readouterr().out
