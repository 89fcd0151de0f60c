"""What every host does alike: the same result for the model, the same events in the same order, whichever framework calls.

`HostContract` is a class of tests. A host's test module has a subclass with an `Adapter`, which drives the framework's own
loop with a scripted model. Each call is made twice, once by the framework and once by a bare `Host` in a folder of the same
content, and the two have to agree.
"""

import asyncio
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import pytest

from toolcharter.hosts import Host, open_host, pending

PROFILE = """
profile: contract
description: Reads, asks before it deletes, runs echo and sleep.
runner: host
tools: {read_file: {}, delete_file: {}, bash: {}}
missing_ok: [search_notes, send_mail, leak]
ask: [delete_file, "custom:send_mail"]
allow: ["bash:echo *", "bash:sleep *", "custom:search_notes", "custom:leak"]
limits: {timeout_s: 20, tools: {bash: {timeout_s: 2}}}
"""
# In parts, so that no scanner takes this file for one that holds a key.
SECRET = "gh" + "p_" + "A1b2C3d4E5" * 3 + "f6G7h8"
PASSED = ["hook.tool.before", "hook.policy.before", "hook.tool.after"]


class Call(NamedTuple):
    """One call as the model asks for it."""

    name: str
    args: dict[str, Any]
    id: str = "call_1"


class SeenResult(NamedTuple):
    """What the model sees of a call."""

    text: str
    is_error: bool | None
    """None where the model's interface has no mark for errors."""


class Place:
    """A workspace, the profile, and the events of its calls."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "workspace"
        self.workspace.mkdir(parents=True)
        (self.workspace / "notes.txt").write_text("first\n")
        (self.workspace / "secret.txt").write_text(f"token {SECRET}\n")
        self.profile = folder / "contract.yaml"
        self.profile.write_text(PROFILE)
        self._lines = folder / "events.jsonl"

    def open(self) -> Host:
        return open_host(self.profile, workspace=self.workspace, events=f"file:{self._lines}")

    def events(self) -> list[dict[str, Any]]:
        """Of calls, in order."""
        lines = self._lines.read_text().splitlines() if self._lines.exists() else []
        return [event for event in map(json.loads, lines) if event["call_id"] is not None]

    def shown(self, call_id: str | None = None) -> list[tuple[str, str | None, str | None]]:
        """Name, outcome and reason of each event; of one call, if it is named."""
        return [
            (event["event"], event.get("outcome"), event.get("reason"))
            for event in self.events()
            if call_id in {None, event["call_id"]}
        ]


@contextmanager
def expire_questions(monkeypatch: pytest.MonkeyPatch, message: str) -> Iterator[None]:
    """Whoever is asked within is asked *message*, and the question has expired at once."""
    ask = pending.PendingApprovals.__call__
    with monkeypatch.context() as within:
        within.setattr(pending, "MAX_AGE_S", -1.0)
        within.setattr(
            pending.PendingApprovals,
            "__call__",
            lambda self, one: ask(self, one._replace(message=message or one.message)),
        )
        yield


class Adapter(ABC):
    """A framework with the tools of *host* and a scripted model."""

    answers_unknown: ClassVar[bool] = False
    """Whether the framework itself answers a call of a name that it does not know."""
    refuses_itself: ClassVar[bool] = False
    """Whether the framework answers for a call that a person has refused, so that the gate never hears of the answer."""

    def __init__(self, host: Host) -> None:
        self.host = host

    @abstractmethod
    async def run(self, calls: Sequence[Call]) -> list[SeenResult]:
        """One turn in which the model asks for *calls*; what it sees of each, in their order, in the next."""

    @abstractmethod
    async def answer(self, call: Call, *, granted: bool) -> SeenResult:
        """The same for one call that needs a person, who answers."""

    async def run_foreign(self, call: Call, output: str) -> SeenResult:
        """The same for a call of the agent's own tool `call.name`, which takes a text `query` and returns *output*."""
        raise NotImplementedError


CALLS_BY_KIND = {
    "valid": Call("read_file", {"path": "notes.txt"}),
    "arguments": Call("read_file", {"pfad": "notes.txt"}),
    "type": Call("read_file", {"path": 7}),
    "denied": Call("read_file", {"path": "../x"}),
    "rule": Call("bash", {"command": "touch x"}),
    "error": Call("read_file", {"path": "none.txt"}),
    "time": Call("bash", {"command": "sleep 30"}),
    "secret": Call("read_file", {"path": "secret.txt"}),
}


class HostContract:
    """The tests; `adapter` is what they test."""

    adapter: ClassVar[type[Adapter]]

    @pytest.fixture
    def place(self, tmp_path: Path) -> Place:
        return Place(tmp_path / "framework")

    @pytest.fixture
    def host(self, place: Place) -> Iterator[Host]:
        with place.open() as opened:
            yield opened

    @pytest.fixture
    def bare(self, tmp_path: Path) -> Place:
        return Place(tmp_path / "bare")

    @pytest.mark.parametrize("call", CALLS_BY_KIND.values(), ids=CALLS_BY_KIND)
    async def test_call_is_as_without_the_framework(self, call: Call, host: Host, place: Place, bare: Place) -> None:
        """The model sees the gate's text, and the events are those of a bare call."""
        with bare.open() as direct:
            expected = direct.call(call.name, call.args, call_id=call.id)

        [seen] = await self.adapter(host).run([call])

        assert _timeless(seen.text) == _timeless(expected.text)
        assert seen.is_error in {None, expected.is_error}
        assert place.shown(call.id) == bare.shown(call.id)
        assert place.shown() == bare.shown()

    async def test_output_with_a_secret_is_masked(self, host: Host) -> None:
        """The model never sees it."""
        [seen] = await self.adapter(host).run([CALLS_BY_KIND["secret"]])

        assert "[REDACTED]" in seen.text
        assert SECRET not in seen.text

    async def test_unknown_tool_is_refused(self, host: Host, place: Place) -> None:
        """By the gate where the call reaches it, else by the framework; nothing runs."""
        [seen] = await self.adapter(host).run([Call("no_such_tool", {})])

        assert "no_such_tool" in seen.text or "unknown_tool" in seen.text
        assert seen.is_error in {None, True}
        reasons = [reason for event, _, reason in place.shown() if event == "hook.tool.after"]
        assert reasons == ([] if self.adapter.answers_unknown else ["unknown_tool"])

    async def test_hundred_calls_at_once(self, host: Host, place: Place) -> None:
        """Each has its own result and its own events."""
        calls = [Call("read_file", {"path": "notes.txt"}, f"call_{number}") for number in range(100)]

        seen = await self.adapter(host).run(calls)

        assert len(seen) == 100
        assert {text for text, _ in seen} == {seen[0].text}
        for call in calls:
            assert [event for event, _, _ in place.shown(call.id)] == PASSED

    async def test_results_of_one_turn_are_in_order(self, host: Host) -> None:
        """A failure beside a success does not disturb it."""
        calls = [CALLS_BY_KIND[kind]._replace(id=f"call_{kind}") for kind in ("valid", "denied", "error")]

        seen = await self.adapter(host).run(calls)

        assert "first" in seen[0].text
        assert "path_outside_workspace" in seen[1].text
        assert "does not exist" in seen[2].text

    async def test_granted_call_runs_once(self, host: Host, place: Place, bare: Place) -> None:
        """A person allows it: the call is made again with the answer."""
        call = Call("delete_file", {"path": "notes.txt"})
        expected = _answered(bare, call, granted=True)

        seen = await self.adapter(host).answer(call, granted=True)

        assert seen.text == expected.text
        assert seen.is_error in {None, False}
        assert not (place.workspace / "notes.txt").exists()
        assert place.shown() == bare.shown()

    async def test_refused_call_does_not_run(self, host: Host, place: Place, bare: Place) -> None:
        """A person refuses it: the model is told."""
        call = Call("delete_file", {"path": "notes.txt"})
        expected = _answered(bare, call, granted=False)

        seen = await self.adapter(host).answer(call, granted=False)

        assert seen.is_error in {None, True}
        assert (place.workspace / "notes.txt").exists()
        if self.adapter.refuses_itself:
            assert seen.text
            assert "ok" not in {outcome for _, outcome, _ in place.shown()}
        else:
            assert seen.text == expected.text
            assert place.shown() == bare.shown()

    async def test_cancelled_call_ends(self, host: Host, place: Place) -> None:
        """The task is cancelled while a program runs: the program ends, and the call has its closing event."""
        call = Call("bash", {"command": "sleep 30"})
        running = asyncio.create_task(self.adapter(host).run([call]))
        await _until(lambda: any(event == "hook.policy.before" for event, _, _ in place.shown()))

        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await _until(lambda: place.shown(call.id)[-1][0] == "hook.tool.after")

        assert place.shown(call.id)[-1] == ("hook.tool.after", "error", "cancelled")


class SynchronousContract(HostContract):
    """The same in synchronous code, which nothing cancels."""

    async def test_cancelled_call_ends(self, host: Host, place: Place) -> None:
        """The call ends by itself."""
        await self.adapter(host).run([Call("bash", {"command": "sleep 0.1"})])

        assert place.shown("call_1")[-1] == ("hook.tool.after", "ok", None)


class ForeignContract(HostContract):
    """The same, with tools of the agent's own behind the gate."""

    async def test_tool_of_the_agents_own_passes_the_gate(self, host: Host, place: Place) -> None:
        """What the profile allows runs, with events, and its output is scrubbed."""
        seen = await self.adapter(host).run_foreign(Call("search_notes", {"query": "milk"}), f"token {SECRET}")

        assert seen.text == "token [REDACTED]"
        assert [event for event, _, _ in place.shown("call_1")] == PASSED

    async def test_tool_of_the_agents_own_is_denied(self, host: Host, place: Place) -> None:
        """What no rule allows does not run; the model sees the reason."""
        seen = await self.adapter(host).run_foreign(Call("wipe_disk", {"query": "all"}), "wiped")

        assert "not_in_allow" in seen.text
        assert "wiped" not in seen.text
        assert seen.is_error in {None, True}
        assert place.shown("call_1")[-1] == ("hook.tool.after", "denied", "not_in_allow")


async def _until(happened: Callable[[], bool]) -> None:
    """Wait until it has; for 20 seconds at most."""
    for _ in range(2000):
        if happened():
            return
        await asyncio.sleep(0.01)
    raise TimeoutError


def _timeless(text: str) -> str:
    """*text* without how long a program was given: what is left of the call's time."""
    return re.sub(r"[0-9.]+ s\b", "SECONDS", text)


def _answered(place: Place, call: Call, *, granted: bool) -> SeenResult:
    """What a bare host gives for a call that a person answers."""
    with place.open() as host:
        asked = host.call(call.name, call.args, call_id=call.id)
        assert asked.pending is not None
        done = host.answer(asked.pending.state, "allow_once" if granted else "deny")
    return SeenResult(done.text, done.is_error)
