"""`rt.store` on the store that a profile has without asking for one: an SQLite file in the user's state folder."""

import os
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest
from tests.core.gate.conftest import MakeToolbox, spec_with_runtime

from toolcharter import (
    CORE_RECORDS,
    Caller,
    RecordKind,
    SecretRecord,
    StoreRecord,
    StoreTransaction,
    ToolRuntime,
    open_store,
)
from toolcharter.gate.toolbox import Toolbox
from toolcharter.loader.scan import find_installed

KEY = "ab" * 32
VALUE = "murmured-" * 3


class Count(StoreRecord):
    store_kind = RecordKind("count", ("name",))

    name: str
    value: int = 0


class Login(StoreRecord):
    store_kind = RecordKind("login", ("name",), secret=("password",))

    name: str
    password: str


def count(rt: ToolRuntime) -> Callable[[str], str]:
    def add(name: str) -> str:
        """Count one more."""
        ctx = rt.start("count", name=name)
        ctx.policy_passed()

        def more(records: StoreTransaction) -> int:
            found = records.get(Count, name)
            value = 1 if found is None else found.record.value + 1
            records.put(Count(name=name, value=value))
            return value

        return ctx.ok(str(rt.store.transact(more)))

    return add


def login(rt: ToolRuntime) -> Callable[[str], str]:
    def keep(name: str) -> str:
        """Keep a password."""
        ctx = rt.start("login", name=name)
        ctx.policy_passed()
        rt.store.put(Login(name=name, password=VALUE))
        return ctx.ok("kept")

    return keep


def within(rt: ToolRuntime) -> Callable[[], str]:
    def use() -> str:
        """Use the store within its own transaction."""
        ctx = rt.start("within")
        ctx.policy_passed()
        rt.store.transact(lambda records: (records.put(Count(name="a")), rt.store.get(Count, "a")))
        return ctx.ok("done")

    return use


@pytest.fixture
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    monkeypatch.delenv("TOOLCHARTER_STORE_KEY", raising=False)
    return folder / "toolcharter"


@pytest.fixture
def toolbox(make_toolbox: MakeToolbox, state: Path) -> Toolbox:
    specs = [spec_with_runtime(tool, staged=True) for tool in (count, login, within)]
    return make_toolbox(*specs, index=find_installed())


def _content(state: Path) -> bytes:
    return b"".join(path.read_bytes() for path in (state / "store").iterdir())


def test_records_outlive_their_toolbox(toolbox: Toolbox, make_toolbox: MakeToolbox, state: Path) -> None:
    """Nothing is there before the first use, and another toolbox goes on counting."""
    assert not (state / "store").exists()
    assert [toolbox.call("count", {"name": "a"}).text for _ in range(2)] == ["1", "2"]
    toolbox.close()

    again = make_toolbox(spec_with_runtime(count, staged=True), index=find_installed())

    assert again.call("count", {"name": "a"}).text == "3"
    assert again.for_caller(Caller(tenant="acme")).call("count", {"name": "a"}).text == "1"


def test_a_store_in_the_workspace_is_denied(
    make_toolbox: MakeToolbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the state folder lies there, tools could write the file."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    denied = make_toolbox(spec_with_runtime(count, staged=True), index=find_installed()).call("count", {"name": "a"})

    assert (denied.outcome, denied.reason) == ("denied", "store_unavailable")
    assert "lies in the workspace" in (denied.message or "")
    assert not (tmp_path / "state/toolcharter/store").exists()


def test_threads_in_each_others_way_count_all(toolbox: Toolbox) -> None:
    """No call loses what another one wrote."""
    results: list[str] = []

    def work() -> None:
        results.extend(toolbox.call("count", {"name": "a"}).text for _ in range(10))

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(map(int, results)) == list(range(1, 41))


def test_without_a_key_no_secret_is_kept(toolbox: Toolbox, state: Path) -> None:
    """Neither in clear text nor at all."""
    denied = toolbox.call("login", {"name": "amy"})

    assert (denied.outcome, denied.reason) == ("denied", "store_unavailable")
    assert VALUE.encode() not in _content(state)


def test_with_a_key_the_file_holds_no_secret(toolbox: Toolbox, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And without it what was kept cannot be read."""
    monkeypatch.setenv("TOOLCHARTER_STORE_KEY", KEY)
    assert toolbox.call("login", {"name": "amy"}).outcome == "ok"
    with open_store() as store:
        store.bound("", CORE_RECORDS).put(SecretRecord(name="key", value=VALUE))
        assert store.secret("secret:key") == VALUE

    content = _content(state)

    assert VALUE.encode() not in content
    assert content.count(b"aes-gcm:") >= 2


def test_a_transaction_that_uses_the_store_is_an_error_at_once(toolbox: Toolbox) -> None:
    """It would wait for itself; nothing of it is kept."""
    result = toolbox.call("within", {})

    assert (result.outcome, result.reason) == ("error", "tool_error")
    assert toolbox.call("count", {"name": "a"}).text == "1"


def test_a_fork_goes_on(toolbox: Toolbox) -> None:
    """The child of a fork counts on, through connections of its own."""
    toolbox.call("count", {"name": "a"})
    child = os.fork()
    if child == 0:
        os._exit(0 if toolbox.call("count", {"name": "a"}).text == "2" else 1)

    assert os.waitpid(child, 0)[1] == 0
    assert toolbox.call("count", {"name": "a"}).text == "3"
