"""Notifications: each entry that wants a call is told of it once, and the call never waits."""

import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson
import pytest
from tests.rows import each_row

import toolcharter_webhook
from toolcharter.api.channel import Channel
from toolcharter.errors import ConfigurationError
from toolcharter.events.notify import LOGGER, NOT_JUDGED, Notifier, PendingNotification
from toolcharter.loader.openers import Opener, open_channel
from toolcharter.profile.rules import parse_rule
from toolcharter.profile.settings import Notify

PATIENCE_S = 60
FIELDS = {
    "event": "hook.tool.after",
    "call_id": "c1",
    "tool": "git",
    "action": "push\n",
    "args": {"remote": "origin"},
    "outcome": "denied",
    "reason": "action_not_allowed",
    "message": "no",
}
PAYLOAD = {**FIELDS, "notify": {"match": "git:push"}}


def entry(*patterns: str, **settings: Any) -> Notify:
    when = settings.pop("when", None)
    return Notify(tuple(parse_rule(pattern, "p.yaml:3:5", when=when) for pattern in patterns), **settings)


PUSHES = entry("git:push")


def opened(wanted: Notify) -> Channel:
    """The channel of an entry, as a toolbox opens it."""
    openers = {"webhook": Opener("toolcharter-webhook 0.1.0", toolcharter_webhook.open_channel)}
    return open_channel(openers, wanted.deliver, wanted.url or "", wanted.place)


def notifier_of(entries: list[Notify], **settings: Any) -> Notifier:
    return Notifier(entries, opened, **settings)


def first_rule(wanted: Notify) -> str | None:
    """Every call matches."""
    return wanted.match[0].text


def nothing(_: Notify) -> str | None:
    return None


def tell(notifier: Notifier, fields: Any = FIELDS) -> None:
    for wanted in notifier.pending_for("denied", first_rule):
        notifier.offer(wanted, fields)


class Hook(ThreadingHTTPServer):
    """Keeps what it gets, and answers when it may."""

    daemon_threads = True

    def __init__(self) -> None:
        self.got: list[tuple[str, Any]] = []
        self.unique: list[tuple[str, str]] = []
        self.arrived = threading.Semaphore(0)
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.status = 204
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook"


class Handler(BaseHTTPRequestHandler):
    server: Hook

    def do_POST(self) -> None:
        body = orjson.loads(self.rfile.read(int(self.headers["Content-Length"])))
        number, run, offered = self.headers["X-Toolcharter-Delivery"].rsplit("-", 2)
        self.server.got.append((number, body))
        self.server.unique.append((run, offered))
        self.server.arrived.release()
        self.server.may_answer.wait(PATIENCE_S)
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def serve() -> Iterator[Callable[[], Hook]]:
    hooks: list[Hook] = []

    def start() -> Hook:
        hooks.append(Hook())
        threading.Thread(target=hooks[-1].serve_forever, args=(0.01,), daemon=True).start()
        return hooks[-1]

    yield start
    for hook in hooks:
        hook.may_answer.set()
        hook.shutdown()
        hook.server_close()


@pytest.fixture
def hook(serve) -> Hook:
    return serve()


def test_a_record_in_the_log(caplog) -> None:
    """One warning that a reader understands, on one line, and all the facts in one attribute."""
    notifier = notifier_of([PUSHES])

    tell(notifier)
    notifier.close()

    (record,) = caplog.records
    assert (record.name, record.levelname, record.getMessage()) == (
        "toolcharter.notify",
        "WARNING",
        ("'git:push': tool 'git', action 'push\\n', outcome 'denied', reason 'action_not_allowed', call 'c1'"),
    )
    assert (record.__dict__["notification"], notifier.lost) == (PAYLOAD, 0)


def test_a_post_to_a_webhook(hook: Hook) -> None:
    """The same facts as one JSON object."""
    notifier = notifier_of([entry("git:push", deliver="webhook", url=hook.url)])

    tell(notifier)
    notifier.close(PATIENCE_S)

    assert (hook.got, notifier.lost, notifier.last_error) == ([("c1-1", PAYLOAD)], 0, None)


def test_each_entry_that_matches_is_told_once(hook: Hook, caplog) -> None:
    """Entries of one URL differ in the number of their delivery; those that do not match say nothing."""
    entries = [
        entry("*"),
        entry("git:push", deliver="webhook", url=hook.url),
        entry("git", deliver="webhook", url=hook.url),
    ]
    notifier = notifier_of([entry("bash"), *entries])

    for wanted in notifier.pending_for("ok", lambda asked: None if asked == entry("bash") else first_rule(asked)):
        notifier.offer(wanted, FIELDS)
    notifier.close(PATIENCE_S)

    assert [record.__dict__["notification"]["notify"] for record in caplog.records] == [{"match": "*"}]
    assert [(number, body["notify"]["match"]) for number, body in hook.got] == [("c1-3", "git:push"), ("c1-4", "git")]


def test_calls_of_one_identifier_are_no_repetition_of_each_other(hook: Hook) -> None:
    """A model or a host may choose a call's identifier; a receiver that drops repetitions hears of each call."""
    url = {"deliver": "webhook", "url": hook.url}
    first, second = (notifier_of([entry("git:push", **url)]) for _ in range(2))

    for notifier in (first, first, second):
        tell(notifier)
    first.close(PATIENCE_S)
    second.close(PATIENCE_S)

    assert [number for number, _ in hook.got] == ["c1-1"] * 3
    assert len(set(hook.unique)) == 3


def test_one_file_cannot_crowd_out_what_another_asks_for(caplog) -> None:
    """A workspace's file with many patterns that match each call loses its own notifications, not the operator's."""
    own = entry("git:push")._replace(place="/etc/p.yaml:3:5")
    crowd = [entry("*" * stars)._replace(place=f"/ws/policy.yaml:{stars}:5") for stars in range(1, 30)]
    notifier = notifier_of([*crowd, own], queue_max=2)

    for wanted in notifier.pending_for("ok", first_rule):
        notifier.offer(wanted, FIELDS)
    notifier.close(PATIENCE_S)

    assert "git:push" in [record.__dict__["notification"]["notify"]["match"] for record in caplog.records]
    assert notifier.lost == 30 - len(caplog.records)


def test_entries_choose_outcomes() -> None:
    """An entry that does not want an outcome is not asked whether it matches."""
    failures, all_calls = entry("git", outcomes=("error", "denied")), entry("*")
    notifier = notifier_of([failures, all_calls])

    asked = [
        tuple(wanted.entry for wanted in notifier.pending_for(outcome, first_rule))
        for outcome in ("ok", "error", "denied")
    ]

    assert asked == [(all_calls,), (failures, all_calls), (failures, all_calls)]
    assert notifier.pending_for("ok", nothing) == []
    assert notifier_of([failures]).pending_for("ok", lambda _: pytest.fail("asked")) == []


def test_a_rule_that_cannot_be_judged_tells() -> None:
    """A call whose arguments break the matching does not thereby pass unnoticed."""
    notifier = notifier_of([PUSHES])

    wanted = notifier.pending_for("ok", lambda asked: asked.match[1].text)

    assert wanted == [PendingNotification(PUSHES, NOT_JUDGED, 1)]


SCHEMA = {"remote": {"const": "origin"}}


@each_row(
    ("others", "kept"),
    [
        ([entry("git:push", place="policy.yaml:9:3")], 1),
        ([entry("git:push", url="https://example.org")], 1),
        ([entry("git:push", "git:tag")], 2),
        ([entry("git:push", "git:tag"), entry("git:tag", "git:push", "git:tag")], 2),
        ([entry("git:push", outcomes=("denied", "ok", "error"))], 1),
        ([entry("git:push", outcomes=("denied",))], 2),
        ([entry("git:push", deliver="webhook", url="https://example.org")], 2),
        ([entry("git:push", when=SCHEMA), entry("git:push", when=dict(SCHEMA))], 2),
    ],
    ids=["place", "unused url", "patterns", "order", "all outcomes", "outcomes", "delivery", "condition"],
)
def test_identical_entries_are_one(others: list[Notify], kept: int) -> None:
    """A profile, its parent and a ceiling that ask for the same do not ask for it thrice; the first one stands."""
    notifier = notifier_of([PUSHES, *others])

    assert notifier.entries == (PUSHES, *others)[:kept]


def test_urls_that_cannot_be_used() -> None:
    """All at once, where they stand, without what they hold."""
    bad = [
        entry("git", deliver="webhook", url=url, place=f"p.yaml:{line}:5")
        for line, url in ((3, None), (7, "http://a b"))
    ]

    with pytest.raises(ConfigurationError) as caught:
        notifier_of([*bad, entry("git", deliver="webhook", url="https://example.org/")])

    assert str(caught.value) == (
        "p.yaml:3:5: notify.url: the URL is not `http://HOST/...` or `https://HOST/...`.\n"
        "Write a URL such as `https://example.org/hook`.\n"
        "p.yaml:7:5: notify.url: the URL holds a blank, a control character or a backslash.\n"
        "Write a URL such as `https://example.org/hook`."
    )


def test_one_url_is_opened_once(hook: Hook) -> None:
    """Entries of one URL share its channel and its queue; the log opens none."""
    entries = [
        entry(pattern, deliver="webhook", url=url) for url in (hook.url, f"{hook.url}/b") for pattern in ("a", "b")
    ]
    asked: list[str | None] = []

    def noting(wanted: Notify) -> Channel:
        asked.append(wanted.url)
        return opened(wanted)

    Notifier([PUSHES, *entries], noting).close()

    assert asked == [hook.url, f"{hook.url}/b"]


def test_a_slow_webhook_holds_up_nobody(hook: Hook, serve, caplog) -> None:
    """Neither the call, nor the log, nor another webhook; what finds no room is counted."""
    other = serve()
    hook.may_answer.clear()
    slow, quick = (entry("*", deliver="webhook", url=server.url) for server in (hook, other))
    notifier = notifier_of([slow, quick, PUSHES], queue_max=2)
    numbers = iter(range(10))

    def arrives() -> None:
        number = next(numbers)
        tell(notifier, {**FIELDS, "call_id": str(number)})
        assert other.arrived.acquire(timeout=PATIENCE_S)
        give_up = time.monotonic() + PATIENCE_S
        while len(caplog.records) <= number and time.monotonic() < give_up:  # the log has a thread of its own, too
            time.sleep(0.01)

    arrives()
    assert hook.arrived.acquire(timeout=PATIENCE_S)
    for _ in range(3):
        arrives()
    lost, why = notifier.lost, str(notifier.last_error)
    hook.may_answer.set()
    notifier.close(PATIENCE_S)

    assert (lost, why) == (1, "2 items are waiting already")
    assert [number for number, _ in hook.got] == ["0-1", "1-1", "2-1"]
    assert [number for number, _ in other.got] == ["0-2", "1-2", "2-2", "3-2"]
    assert (len(caplog.records), notifier.lost) == (4, 1)


def test_what_is_not_delivered_in_time_is_lost(hook: Hook) -> None:
    """Closing does not wait for a webhook for ever, and afterwards nothing more is taken."""
    hook.may_answer.clear()
    notifier = notifier_of([entry("*", deliver="webhook", url=hook.url)])
    tell(notifier)
    assert hook.arrived.acquire(timeout=PATIENCE_S)
    tell(notifier)

    notifier.close(0)
    left = notifier.lost, str(notifier.last_error)
    tell(notifier)

    assert left == (2, "2 items were not delivered before the end")
    assert (notifier.lost, str(notifier.last_error)) == (3, "closed")


def test_a_webhook_that_gives_nothing_but_trouble(hook: Hook) -> None:
    """The pauses between attempts are the notifier's; in the end the loss is counted and explained."""
    hook.status = 500
    pauses: list[float] = []

    def pause(seconds: float) -> bool:
        pauses.append(seconds)
        return False

    notifier = notifier_of([entry("*", deliver="webhook", url=hook.url)], pause=pause)

    tell(notifier)
    notifier.close(PATIENCE_S)

    origin = hook.url.removesuffix("/hook")
    assert (notifier.lost, str(notifier.last_error)) == (1, f"{origin}: answered 500 (3 attempts)")
    assert ([number for number, _ in hook.got], len(pauses)) == (["c1-1"] * 3, 2)


def test_a_logging_filter_that_raises() -> None:
    """A user's code in the way of the log is a loss, never an error of the call."""
    logger, broken = logging.getLogger(LOGGER), ZeroDivisionError("broken")

    def breaks(_: logging.LogRecord) -> bool:
        raise broken

    notifier = notifier_of([PUSHES])
    logger.addFilter(breaks)
    try:
        tell(notifier)
        notifier.close(PATIENCE_S)
    finally:
        logger.removeFilter(breaks)

    assert (notifier.lost, notifier.last_error) == (1, broken)


FORKING = """
import os, signal, sys
from toolcharter.events.notify import Notifier
from toolcharter_webhook import open_channel
from toolcharter.profile.rules import parse_rule
from toolcharter.profile.settings import Notify
from toolcharter.api.channel import Channel

def tell(call_id):
    for wanted in notifier.pending_for("ok", lambda entry: "git"):
        notifier.offer(wanted, {"call_id": call_id})

signal.alarm(300)
notifier = Notifier([Notify((parse_rule("git"),), "webhook", sys.argv[1])], lambda entry: open_channel(entry.url))
closed = Notifier(notifier.entries, lambda entry: open_channel(entry.url))
closed.close()
tell("parent in hand")
sys.stdin.readline()
tell("parent waiting")
child = os.fork()
if child == 0:
    signal.alarm(300)
    tell("child")
    notifier.close(60)
    closed.offer(notifier.pending_for("ok", lambda entry: "git")[0], {})
    print("child lost", notifier.lost, closed.lost, flush=True)
    os._exit(0)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
notifier.close(60)
print("parent lost", notifier.lost, status)
"""


def test_a_fork_delivers_nothing_twice(hook: Hook) -> None:
    """What waits is the parent's; the child has a thread and a connection of its own, and what is closed stays closed."""
    hook.may_answer.clear()
    # Python 3.12 and later warn of every fork in a process with threads.
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKING, hook.url]

    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as forking:
        assert hook.arrived.acquire(timeout=PATIENCE_S)
        assert forking.stdin
        forking.stdin.write("\n")
        forking.stdin.flush()
        assert hook.arrived.acquire(timeout=PATIENCE_S)  # the child's: the parent's thread still waits for its answer
        hook.may_answer.set()
        told, _ = forking.communicate(timeout=300)

    assert told == "child lost 0 1\nparent lost 0 0\n"
    assert [body["call_id"] for _, body in hook.got] == ["parent in hand", "child", "parent waiting"]


def test_what_a_forked_process_forgets(hook: Hook) -> None:
    """The same without a process: what waits and what was lost are the parent's."""
    hook.may_answer.clear()
    notifier = notifier_of([entry("*", deliver="webhook", url=hook.url)], queue_max=1)
    tell(notifier)
    assert hook.arrived.acquire(timeout=PATIENCE_S)
    tell(notifier)
    tell(notifier)
    lanes, lost = notifier._queues, notifier.lost

    notifier.renew()
    notifier.close(PATIENCE_S)
    closed = notifier._queues
    notifier.renew()

    assert (lost, notifier.lost, notifier._queues is closed) == (1, 0, True)
    assert set(lanes.values()).isdisjoint(closed.values())
    for lane in lanes.values():
        lane.close(0)
