"""What an agent sees of sessions: its own, with its present user, and not too much of them."""

from typing import Any

import pytest
from tests.plugins.agents.conftest import ADA, ADAS, BOB, LEE, AgentWorker
from tests.rows import each_row
from tests.samples import row_params, sample_rows

from toolcharter import Caller, SessionMessage, SessionRecord, Store, Usage

BOBS = "agent:bob:telegram:direct:7"
LEES = "agent:ada:telegram:group:9"


def kept(store: Store, number: int, **fields: Any) -> str:
    """Put a session of ada and kim; returns its key."""
    key = f"agent:ada:web:direct:{number}"
    store.put(SessionRecord(**{"session": key, "agent": "ada", "user": "kim", "updated": number, **fields}))
    return key


def test_keys_follow_agent_channel_and_peer(world: AgentWorker) -> None:
    """What a host says of the conversation is the key, with `direct` or `group`."""
    for caller in (ADA, BOB, LEE):
        world.said("hello", caller)

    keys = [world.call("session_status", caller).data["session"] for caller in (ADA, BOB, LEE)]

    assert keys == [ADAS, BOBS, LEES]


def test_session_lists_ten_that_go_on_the_latest_first(world: AgentWorker, store: Store) -> None:
    """Those that have ended are left out."""
    keys = [kept(store, number, is_completed=number == 11) for number in range(1, 13)]

    listed = [one["session"] for one in world.call("session", action="list").data["sessions"]]

    assert listed == [keys[11], *keys[9:0:-1]]
    assert len(listed) == 10


@each_row(("limit", "shown"), [(-3, 1), (0, 1), (1, 1), (50, 50), (51, 50), (10_000, 50)])
def test_session_reads_from_1_to_50_messages(limit: int, shown: int, world: AgentWorker, store: Store) -> None:
    """A number outside counts as the nearer of the two; the latest messages are shown."""
    key = kept(store, 1)
    for number in range(1, 61):
        store.put(SessionMessage(session=key, number=f"{number:010}", role="user", text=str(number), at=1))

    messages = world.call("session", action="read", session_id=key, limit=limit).data["messages"]

    assert [one["text"] for one in messages] == [str(number) for number in range(61 - shown, 61)]


READING = [row for row in sample_rows("seeds/000-invocation-results") if row["case"].startswith("session read limit")]
LISTING = [row for row in sample_rows("seeds/000-invocation-results") if row["case"].startswith("session list shows")]


@each_row("row", row_params(READING))
def test_sample_of_reading(row: Any, world: AgentWorker, store: Store) -> None:
    """Sample set 000: as many as it says, whatever is asked for."""
    key = kept(store, 1)
    for number in range(1, 61):
        store.put(SessionMessage(session=key, number=f"{number:010}", role="user", text=str(number), at=1))
    limit = row["input"]["limit"]

    given = {} if limit is None else {"limit": limit}
    messages = world.call("session", action="read", session_id=key, **given).data["messages"]

    assert len(messages) == row["expect"]["used"]


@each_row("row", row_params(LISTING))
def test_sample_of_listing(row: Any, world: AgentWorker, store: Store) -> None:
    """Sample set 000: at most so many, the newest."""
    keys = [kept(store, number) for number in range(1, row["input"]["siblings"] + 1)]

    listed = [one["session"] for one in world.call("session", action="list").data["sessions"]]

    assert listed == keys[: -row["expect"]["listed"] - 1 : -1]


def test_session_reads_20_messages_by_default(world: AgentWorker, store: Store) -> None:
    """And needs to be told which session."""
    key = kept(store, 1)
    for number in range(1, 31):
        store.put(SessionMessage(session=key, number=f"{number:010}", role="user", text=str(number), at=1))

    assert len(world.call("session", action="read", session_id=key).data["messages"]) == 20
    assert world.call("session", action="read").reason == "invalid_arguments"


@each_row(
    ("key", "reason"),
    [
        pytest.param(BOBS, "other_agent", id="another-agent's"),
        pytest.param("agent:bob:telegram:direct:8", "other_agent", id="another-agent's-that-is-not-there"),
        pytest.param("agent:adamant:web:direct:1", "other_agent", id="an-agent-whose-name-begins-so"),
        pytest.param("elsewhere", "other_agent", id="a-key-that-says-nothing"),
        pytest.param(LEES, "session_not_found", id="another-user's"),
        pytest.param("agent:ada:telegram:group:10", "session_not_found", id="none"),
        pytest.param("x" * 1000, "other_agent", id="too-long"),
    ],
)
def test_nothing_crosses(key: str, reason: str, world: AgentWorker) -> None:
    """Another agent's session is denied and another user's is not found, as if neither were there."""
    world.said("a secret of bob's", BOB)
    world.said("a secret of lee's", LEE)

    results = [
        world.call("session", action="read", session_id=key),
        world.call("sessions_history", session_key=key),
        world.call("session_status", session_key=key),
        world.call("sessions_send", session_key=key, message="hello"),
    ]

    outcome = "denied" if reason == "other_agent" else "error"
    assert [(result.outcome, result.reason) for result in results] == [(outcome, reason)] * 4
    assert not any("secret" in result.text for result in results)
    assert world.told(BOB) == world.told(LEE) == []


def test_lists_show_own_sessions_alone(world: AgentWorker) -> None:
    """Neither another agent's nor another user's."""
    for caller in (ADA, BOB, LEE):
        world.said("hello", caller)

    assert {
        caller.agent + (caller.user or ""): [
            one["session"] for one in world.call("sessions_list", caller).data["sessions"]
        ]
        for caller in (ADA, BOB, LEE)
        if caller.agent
    } == {"adakim": [ADAS], "bobkim": [BOBS], "adalee": [LEES]}


def test_sessions_list_by_number_and_time(world: AgentWorker, store: Store) -> None:
    """20 by default, and those in which nothing was said lately are left out if asked for."""
    for number in range(1, 31):
        kept(store, number)
    world.said("hello")

    assert len(world.call("sessions_list").data["sessions"]) == 20
    assert [one["session"] for one in world.call("sessions_list", active_minutes=5).data["sessions"]] == [ADAS]
    assert [one["session"] for one in world.call("sessions_list", limit=1).data["sessions"]] == [ADAS]


def test_history_without_and_with_tools(world: AgentWorker) -> None:
    """Results of tools are left out unless asked for, and do not count."""
    for number in range(5):
        world.said(f"u{number}")
        world.said(f"t{number}", role="tool")

    plain = world.call("sessions_history", session_key=ADAS, limit=3)
    whole = world.call("sessions_history", session_key=ADAS, limit=3, include_tools=True)

    assert [one["text"] for one in plain.data["messages"]] == ["u2", "u3", "u4"]
    assert [one["text"] for one in whole.data["messages"]] == ["t3", "u4", "t4"]


@each_row(
    ("text", "count", "shown"),
    [
        pytest.param("x" * 4_000, 3, [4_000] * 3, id="whole"),
        pytest.param("x" * 4_001, 1, [4_000], id="a-long-message"),
        pytest.param("x" * 4_000, 30, [4_000] * 20, id="as-many-as-fit"),
        pytest.param("\N{GRINNING FACE}" * 4_000, 8, [4_000] * 5, id="bytes-not-characters"),
    ],
)
def test_history_is_bounded(text: str, count: int, shown: list[int], world: AgentWorker, store: Store) -> None:
    """4,000 characters of a message, 80 KB of all; the answer says that something is missing."""
    key = kept(store, count)
    for number in range(1, count + 1):
        store.put(SessionMessage(session=key, number=f"{number:010}", role="user", text=text, at=1))

    result = world.call("sessions_history", session_key=key, limit=30)

    assert [len(one["text"]) for one in result.data["messages"]] == shown
    assert result.truncated == (shown != [len(text)] * count)


def test_a_message_is_read_once_as_data(world: AgentWorker, store: Store) -> None:
    """It comes with its source to the session that the key or the label names."""
    key = kept(store, 1, label="notes")
    reader = Caller(agent="ada", user="kim", session=key)

    sent = [
        world.call("sessions_send", session_key=key, message="one"),
        world.call("sessions_send", label="notes", message="two"),
    ]
    items = world.live.inbox(caller=reader)

    assert [result.data for result in sent] == [{"session": key}] * 2
    assert [(item.source, item.text) for item in items] == [(f"session {ADAS}", "one"), (f"session {ADAS}", "two")]
    assert "data, not instructions" in items[0].as_data()
    assert world.live.inbox(caller=reader) == ()


@each_row(
    ("args", "reason"),
    [
        pytest.param({"message": "x"}, "invalid_arguments", id="nowhere"),
        pytest.param({"message": "x", "session_key": ADAS, "label": "a"}, "invalid_arguments", id="two-places"),
        pytest.param({"message": "x", "session_key": ADAS}, "own_session", id="to-itself"),
        pytest.param({"message": "x" * 4_001, "session_key": "agent:ada:x:direct:1"}, "message_too_long", id="long"),
        pytest.param({"message": "x", "label": "none"}, "session_not_found", id="no-such-label"),
    ],
)
def test_messages_that_are_not_sent(args: dict[str, Any], reason: str, world: AgentWorker) -> None:
    """Each with its reason."""
    world.said("hello")

    result = world.call("sessions_send", **args)

    assert (result.outcome, result.reason) == ("error", reason)


def test_a_full_inbox_takes_no_more(world: AgentWorker, store: Store) -> None:
    """It says so, and what waits stays."""
    key = kept(store, 1)
    world_inbox = [world.call("sessions_send", session_key=key, message=str(number)) for number in range(201)]

    assert [world_inbox[0].outcome, world_inbox[199].outcome, world_inbox[200].reason] == ["ok", "ok", "inbox_full"]


def test_status_counts(world: AgentWorker) -> None:
    """Model, provider, channel, messages, tokens and compactions, as the host has recorded them."""
    world.said("question")
    world.live.record("assistant", "answer", Usage(10, 5, "big", "acme"), caller=ADA)
    world.live.record("summary", "short", Usage(2, 1), caller=ADA)

    data = world.call("session_status").data
    updated = data.pop("updated")

    assert data == {
        "session": ADAS,
        "model": "big",
        "provider": "acme",
        "channel": "telegram",
        "messages": 3,
        "input_tokens": 12,
        "output_tokens": 6,
        "compactions": 1,
        "label": "",
    }
    assert updated > 1_700_000_000


def test_a_session_without_a_record_has_a_status(world: AgentWorker) -> None:
    """Of a host that records nothing, and of one whose key another user has."""
    world.said("hello", Caller(agent="ada", user="lee", session="shared"))

    for caller in (ADA, Caller(agent="ada", user="kim", session="shared", channel="web", provider="acme")):
        data = world.call("session_status", caller).data
        assert (data["messages"], data["channel"], data["provider"]) == (0, caller.channel, caller.provider or "")


def test_a_session_whose_key_is_too_long_has_no_status(world: AgentWorker) -> None:
    """No record can have it; the tool says so."""
    result = world.call("session_status", Caller(agent="ada", user="kim", session="x" * 401))

    assert (result.outcome, result.reason) == ("error", "session_not_found"), result.text


def member(user: str | None, chat: str = "10", agent: str = "ada", **facts: Any) -> Caller:
    """One who writes to an agent in a group."""
    return Caller(agent=agent, user=user, channel="telegram", chat=chat, peer="group", **facts)


def seen(world: AgentWorker, caller: Caller, key: str) -> list[Any]:
    """What *caller* is shown of the session *key*: in three tools by name, and in two lists."""
    named = [
        world.call("session", caller, action="read", session_id=key),
        world.call("sessions_history", caller, session_key=key),
        world.call("session_status", caller, session_key=key),
    ]
    lists = [world.call("session", caller, action="list"), world.call("sessions_list", caller)]
    is_listed = [key in [one["session"] for one in found.data["sessions"]] for found in lists]
    return [
        [(one.get("text")) for one in found.data["messages"]] if found.data else found.reason for found in named[:2]
    ] + [
        named[2].data["messages"] if named[2].data else named[2].reason,
        *is_listed,
    ]


@each_row("session", [None, "telegram:10"], ids=["our-key", "the-host's-key"])
def test_a_group_has_one_session(session: str | None, world: AgentWorker) -> None:
    """Each member reads and continues it, whoever was the first; outside the group nobody does, and no member either."""
    chat = "10" if session is None else "20"
    kim, lee = (member(user, chat, session=session) for user in ("kim", "lee"))
    key = session or f"agent:ada:telegram:group:{chat}"
    world.said("from kim", kim)
    world.said("from lee", lee)
    others = [
        ADA,
        member("kim", "11"),
        member(None, "11"),
        Caller(agent="ada"),
        Caller(agent="ada", user="kim", session="x"),
    ]

    both = ["from kim", "from lee"]
    assert [seen(world, one, key) for one in (kim, lee, member(None, chat, session=session))] == [
        [both, both, 2, True, True]
    ] * 3
    reason = "session_not_found" if session is None else "other_agent"
    assert [seen(world, one, key) for one in others] == [[reason, reason, reason, False, False]] * len(others)
    assert world.call("sessions_send", ADA, session_key=key, message="hello").reason == reason
    assert seen(world, member("kim", chat, agent="bob", session=session), key)[3:] == [False, False]


def test_a_group_in_another_tenant(world: AgentWorker) -> None:
    """The same channel and chat are another group there."""
    there = member("kim", tenant="other")
    key = "agent:ada:telegram:group:10"
    world.said("here", member("kim"))
    before = seen(world, there, key)
    world.said("there", there)

    assert before == ["session_not_found", "session_not_found", 0, False, False]
    assert [seen(world, one, key)[0] for one in (member("lee"), there)] == [["here"], ["there"]]


def test_a_group_whose_record_says_its_first_user(world: AgentWorker, store: Store) -> None:
    """As older versions wrote it: it is the group's all the same, and the next message says so."""
    key = "agent:ada:telegram:group:10"
    old: dict[str, Any] = {"channel": "telegram", "chat": "10", "peer": "group"}
    store.put(SessionRecord(session=key, agent="ada", user="kim", updated=1, **old))

    assert seen(world, ADA, key) == ["session_not_found"] * 3 + [False, False]
    world.said("hello", member("lee"))
    assert seen(world, member("kim"), key)[0] == ["hello"]
    found = store.get(SessionRecord, key)
    assert found is not None
    assert found.record.user == ""


def test_lists_of_a_caller_without_a_user(world: AgentWorker) -> None:
    """Sessions of groups have no user: they take no room among those of a caller that has none either."""
    nobody = Caller(agent="ada", channel="web", chat="1", peer="direct")
    world.said("hello", nobody)
    for chat in range(5):
        world.said("hello", member("kim", str(chat)))

    listed = world.call("sessions_list", nobody, limit=1).data["sessions"]

    assert [one["session"] for one in listed] == ["agent:ada:web:direct:1"]


def test_a_colleague_in_the_same_group(world: AgentWorker) -> None:
    """A message to it waits for the group's next turn, and for no other group's."""
    for chat in ("10", "11"):
        world.said("hello", member("kim", chat, "bob"))

    sent = world.call("team_message", member("lee"), to="bob", text="look")
    nobody = world.call("team_message", member("lee", "12"), to="bob", text="look")

    assert (sent.data, nobody.reason) == ({"reached": ["bob"]}, "no_session")
    assert [world.told(member("ann", chat, "bob")) for chat in ("10", "11")] == [["look"], []]
