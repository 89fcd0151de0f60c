"""`rt.store`: bound to the distribution of the tool and the tenant of the call; it writes only where a tool may act."""

from collections.abc import Callable
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest
from tests.core.gate.conftest import MakeToolbox, spec_with_runtime
from tests.core.guards.store.memory_engine import MemoryEngine

from toolcharter import (
    CORE_RECORDS,
    Caller,
    ConfigurationError,
    RecordKind,
    Scope,
    SecretRecord,
    StoreHandle,
    StoreRecord,
    StoreUnavailable,
    ToolRuntime,
)
from toolcharter.events.emitter import Emitter
from toolcharter.events.lines import LineFormat
from toolcharter.gate.state import ProfileStore, ToolboxState
from toolcharter.gate.toolbox import Toolbox
from toolcharter.loader.openers import Opener
from toolcharter.loader.scan import InstalledPlugins
from toolcharter.profile.field_types import StoreUrl
from toolcharter.profile.model import Limits


class Note(StoreRecord):
    store_kind = RecordKind("note", ("id",))

    id: str
    text: str = ""


def write(rt: ToolRuntime) -> Callable[[str, str], str]:
    def put(key: str, text: str = "") -> str:
        """Keep a note."""
        ctx = rt.start("write", key=key)
        ctx.policy_passed()
        return ctx.ok(str(rt.store.put(Note(id=key, text=text))))

    return put


def early(rt: ToolRuntime) -> Callable[[str], str]:
    def put(key: str) -> str:
        """Keep a note before anything is permitted, and say that it was."""
        ctx = rt.start("early", key=key)
        rt.store.transact(lambda transaction: transaction.put(Note(id=key)))
        ctx.policy_passed()
        return ctx.ok("kept")

    return put


def read(rt: ToolRuntime) -> Callable[[str], str]:
    def get(key: str) -> str:
        """Look for a note, before the mark."""
        ctx = rt.start("read", key=key)
        found = rt.store.get(Note, key)
        ctx.policy_passed()
        return ctx.ok("none" if found is None else f"{found.record.text} {found.version}")

    return get


async def _awaited(rt: ToolRuntime, key: str) -> str:
    return str(await rt.store.asynchronous().put(Note(id=key)))


def later(rt: ToolRuntime) -> Callable[[str], Any]:
    async def put(key: str) -> str:
        """Keep a note from asynchronous code."""
        ctx = rt.start("later", key=key)
        ctx.policy_passed()
        return ctx.ok(await _awaited(rt, key))

    return put


def use(rt: ToolRuntime) -> Callable[[str], str]:
    def show(text: str) -> str:
        """Show a secret, as no tool should."""
        ctx = rt.start("use", text=text)
        value = rt.secret(text)
        ctx.policy_passed()
        return ctx.ok(f"{len(value)}: {value}")

    return show


@pytest.fixture
def engine() -> MemoryEngine:
    return MemoryEngine()


@pytest.fixture
def with_store(make_toolbox: MakeToolbox, engine: MemoryEngine) -> Callable[..., Toolbox]:
    def make(
        *tools: Callable[[Any], Callable[..., Any]], records: tuple[type[StoreRecord], ...] = (), **settings: Any
    ) -> Toolbox:
        specs = [spec_with_runtime(tool, staged=True, records=records) for tool in tools]
        opens = {"memory": Opener("toolcharter-memory 1.0", lambda _: engine)}
        return make_toolbox(*specs, stores=opens, store=StoreUrl("memory:", place="p.yaml:3:1"), **settings)

    return make


def test_records_of_a_tool(with_store: Callable[..., Toolbox], engine: MemoryEngine) -> None:
    """They are its distribution's, and the caller's tenant's; the store is opened by the first use and closed at the end."""
    with with_store(write, read) as toolbox:
        assert engine.log == []
        assert toolbox["write"](key="a", text="x").text == "1"
        acme = toolbox.for_caller(Caller(agent="one", tenant="acme"))
        assert acme.call("read", {"key": "a"}).text == "none"
        assert acme.call("write", {"key": "a", "text": "y"}).text == "1"
        assert [view.call("read", {"key": "a"}).text for view in (toolbox, acme)] == ["x 1", "y 1"]

    assert engine.scopes == {Scope("", "toolcharter-test"), Scope("acme", "toolcharter-test")}
    assert (engine.log[0], engine.log[-1], engine.log.count("migrate")) == ("migrate", "close", 1)


def test_a_tenant_of_no_form_is_denied(with_store: Callable[..., Toolbox], engine: MemoryEngine) -> None:
    """Whatever characters it has, no other tenant's records are found."""
    toolbox = with_store(write)

    results = [toolbox.for_caller(Caller(tenant=name)).call("write", {"key": "a"}) for name in ("a:b", "../a", "\0")]

    assert {(result.outcome, result.reason) for result in results} == {("denied", "store_unavailable")}
    assert engine.content.rows == {}


def test_nothing_is_written_before_the_mark(with_store: Callable[..., Toolbox], engine: MemoryEngine) -> None:
    """Not in a transaction either; what is not staged may, for its dry run is never entered."""
    result = with_store(early).call("early", {"key": "a"})

    assert (result.outcome, result.reason) == ("error", "unexpected_failure")
    assert engine.content.rows == {}


def test_a_dry_run_reads_and_does_not_write(with_store: Callable[..., Toolbox], engine: MemoryEngine) -> None:
    """What a body decides by its records is decided in a dry run, too."""
    toolbox = with_store(read, early, write)

    decisions = [toolbox.decide(tool, {"key": "a"}) for tool in ("read", "early", "write")]

    assert [(one.outcome, one.tool_checks) for one in decisions] == [
        ("allow", "passed"),
        ("error", "error"),
        ("allow", "passed"),
    ]
    assert engine.content.rows == {}


def test_a_store_ends_with_its_call(with_store: Callable[..., Toolbox], engine: MemoryEngine) -> None:
    """A use waits no longer than the call has time left, and never longer than the store's own limit."""
    with_store(write, limits=Limits(timeout_s=20)).call("write", {"key": "a"})

    assert 0 < engine.timeouts[0] <= 20


async def test_from_asynchronous_code(with_store: Callable[..., Toolbox], engine: MemoryEngine) -> None:
    """The thread that waits for the store belongs to the same call."""
    result = await with_store(later)["later"].acall(key="a")

    assert (result.outcome, result.text) == ("ok", "1")
    assert engine.scopes == {Scope("", "toolcharter-test")}


def test_a_store_that_is_gone_denies_and_comes_back(with_store: Callable[..., Toolbox], engine: MemoryEngine) -> None:
    """The next call tries again; other tools go on."""
    toolbox = with_store(write)
    engine.failure = StoreUnavailable("It is gone.")
    denied = toolbox.call("write", {"key": "a"})
    engine.failure = None

    assert (denied.outcome, denied.reason, denied.message) == ("denied", "store_unavailable", "It is gone.")
    assert toolbox.call("write", {"key": "a"}).outcome == "ok"


def test_many_threads_open_it_once(with_store: Callable[..., Toolbox], engine: MemoryEngine) -> None:
    """And all that they write is there."""
    toolbox, barrier = with_store(write), Barrier(8)

    def work(number: int) -> None:
        barrier.wait()
        toolbox.call("write", {"key": f"k{number}"})

    threads = [Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert engine.log.count("migrate") == 1
    assert len(engine.content.rows) == 8


@pytest.mark.parametrize("place", ["store.db", "link/store.db"])
def test_a_store_in_the_workspace_stops_the_start(
    place: str, with_store: Callable[..., Toolbox], engine: MemoryEngine, tmp_path: Path
) -> None:
    """A tool could write what is believed later."""
    (tmp_path / "link").symlink_to("/")
    engine.places = [tmp_path / place]

    with pytest.raises(ConfigurationError) as refused:
        with_store(write)

    assert str(refused.value) == (
        f"p.yaml:3:1: store: {str(tmp_path / place)!r} lies in the workspace, where tools can write.\n"
        "Name a place outside the workspace."
    )


def test_secrets_of_the_callers_tenant(with_store: Callable[..., Toolbox], engine: MemoryEngine) -> None:
    """A tool gets the value; the model reads a mask. What is not there is denied, and said how to keep."""
    StoreHandle(lambda: engine).bound("acme", CORE_RECORDS).put(SecretRecord(name="key", value="sotto-voce-" * 2))
    toolbox = with_store(use)
    acme = toolbox.for_caller(Caller(tenant="acme"))

    shown, denied = acme.call("use", {"text": "secret:key"}), toolbox.call("use", {"text": "secret:key"})

    assert (shown.outcome, shown.redactions) == ("ok", 1)
    assert shown.text.startswith("22: ")
    assert "sotto-voce" not in shown.text
    assert (denied.outcome, denied.reason, denied.message, denied.hint) == (
        "denied",
        "store_unavailable",
        "The store has no secret 'key'.",
        "The operator can add it with: toolcharter store secret put key",
    )


class Page(StoreRecord):
    store_kind = RecordKind("page", ("id",), full_text=("text",))

    id: str
    text: str


def test_what_is_searched_stops_the_start_where_nothing_searches(
    with_store: Callable[..., Toolbox], engine: MemoryEngine
) -> None:
    """A tool that says so does not start on such a store; others do, and so does that one on another store."""
    with_store(write, records=(Note, Page))
    engine.has_full_text = False
    with_store(write, records=(Note,))

    with pytest.raises(ConfigurationError) as refused:
        with_store(write, read, records=(Note, Page))

    assert str(refused.value) == (
        "p.yaml:3:1: store: records of 'write', 'read' are searched, but this store has no full-text search.\n"
        "Name a store with full-text search: `sqlite:`."
    )


def test_one_store_for_a_session_with_all_its_reloads(engine: MemoryEngine) -> None:
    """The state of a reloaded toolbox has the handle of the first, and does not close it."""
    state = ToolboxState(
        "p", "d", Path(), LineFormat("p", "d"), Emitter([]), store=ProfileStore("memory:", "", lambda _: engine)
    )

    child = state.child()
    child.store.handle.bound("", "acme-notes").put(Note(id="a"))
    child.close()

    assert "close" not in engine.log
    assert child.store.handle is state.store.handle
    assert state.store.handle.bound("", "acme-notes").count(Note) == 1


def test_a_store_that_nothing_provides_is_denied(make_toolbox: MakeToolbox) -> None:
    """Where the profile names none and the default is not installed, the line says what to install."""
    toolbox = make_toolbox(spec_with_runtime(write, staged=True), index=InstalledPlugins((), None))

    denied = toolbox.call("write", {"key": "a"})

    assert (denied.outcome, denied.reason) == ("denied", "store_unavailable")
    assert denied.message == (
        "rt.store: store: no installed plugin provides a store named 'sqlite'.\n"
        "Install the distribution toolcharter-sqlite."
    )
