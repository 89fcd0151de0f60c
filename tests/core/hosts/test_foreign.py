"""Tools that are not ours, behind the same gate."""

import asyncio
import threading

import pytest

from toolcharter import SpecError
from toolcharter.hosts import Host, StateRejected, foreign

from .conftest import Place
from .test_host import DENIED, PASSED


def test_a_tool_that_the_profile_allows_runs(host: Host, place: Place) -> None:
    """The body gets the arguments; the events are those of any call."""
    result = host.govern("search_notes", {"query": "x"}, lambda args: f"found {args['query']}", call_id="c1")

    assert (result.text, result.is_error) == ("found x", False)
    assert place.events("c1") == PASSED
    assert {event["plugin"] for event in place.fields("hook.tool.after")} == {"host"}


@pytest.mark.parametrize("name", ["weather", "never_heard_of"])
def test_any_other_is_denied(host: Host, place: Place, name: str) -> None:
    """It declares no capabilities, so a rule has to allow it."""
    ran: list[object] = []

    result = host.govern(name, {}, ran.append, call_id="c1")

    assert (result.result.outcome, result.result.reason, ran) == ("denied", "not_in_allow", [])
    assert place.events("c1") == DENIED


def test_its_arguments_are_validated(host: Host) -> None:
    """Against the schema that the host hands in."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

    wrong = host.govern("search_notes", {"n": "five"}, lambda _: "ran", parameters=schema)
    right = host.govern("search_notes", {"n": 5}, lambda args: str(args["n"] + 1), parameters=schema)

    assert (wrong.result.reason, right.text) == ("invalid_arguments", "6")


def test_its_errors_timeouts_and_secrets_are_the_gates(host: Host, place: Place) -> None:
    """What the body raises is a result, a late body is given up, its output is scrubbed."""
    secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"[:36]
    release = threading.Event()

    def fail(_: object) -> str:
        raise ValueError("no such page")

    failed = host.govern("search_notes", {}, fail)
    masked = host.govern("search_notes", {}, lambda _: f"token={secret}")
    place.hurry()
    with place.open() as hurried:
        late = hurried.govern("search_notes", {}, lambda _: str(release.wait(60)))
    release.set()

    assert (failed.result.reason, late.result.reason) == ("unexpected_failure", "timed_out")
    assert secret not in masked.text


async def test_an_asynchronous_body_is_cancelled_at_its_deadline(place: Place) -> None:
    """Its limit is the profile's."""
    cancelled: list[bool] = []

    async def body(_: object) -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise
        return "late"

    place.hurry()
    with place.open() as host:
        result = await host.agovern("search_notes", {}, body)

    assert (result.result.reason, cancelled) == ("timed_out", [True])


def test_a_name_of_ours_keeps_its_rules_and_checks(host: Host, place: Place) -> None:
    """Only the work is the host's: schema, rules and the tool's own checks are ours."""
    ran: list[dict[str, object]] = []

    def body(args: dict[str, object]) -> str:
        ran.append(args)
        return "done elsewhere"

    outside = host.govern("write_file", {"path": "../x", "content": "x"}, body)
    wrong = host.govern("write_file", {"pfad": "x"}, body)
    command = host.govern("bash", {"command": "echo a; touch x"}, body)
    floor = host.govern("bash", {"command": "rm -rf /"}, body)
    assert ran == []
    inside = host.govern("write_file", {"path": "new.txt", "content": "x"}, body)

    assert [each.result.reason for each in (outside, wrong, command, floor)] == [
        "path_outside_workspace",
        "invalid_arguments",
        "not_in_allow",
        "denied_by_floor",
    ]
    assert (inside.text, len(ran)) == ("done elsewhere", 1)
    assert not (place.workspace / "new.txt").exists()


async def test_a_name_of_ours_in_a_loop(host: Host) -> None:
    """The same with an asynchronous body."""

    async def body(_: object) -> str:
        return "done elsewhere"

    outside = await host.agovern("read_file", {"path": "/etc/passwd"}, body)
    inside = await host.agovern("read_file", {"path": "notes.txt"}, body)

    assert (outside.result.reason, inside.text) == ("path_outside_workspace", "done elsewhere")


def test_it_waits_for_a_person_like_ours(host: Host) -> None:
    """The body has to be handed in again with the answer."""
    asked = host.govern("delete_file", {"path": "notes.txt"}, lambda _: "deleted elsewhere")
    assert asked.pending is not None
    with pytest.raises(StateRejected, match="pass its body"):
        host.answer(asked.pending.state, "allow_once")

    done = host.answer(asked.pending.state, "allow_once", body=lambda _: "deleted elsewhere")

    assert (done.text, done.pending) == ("deleted elsewhere", None)


def test_a_name_that_no_tool_may_bear_is_refused(host: Host) -> None:
    """A host maps such names itself."""
    with pytest.raises(SpecError, match="does not match"):
        host.govern("a b", {}, lambda _: "x")


def test_a_name_is_judged_by_its_kind_each_time(host: Host) -> None:
    """What a rule allows for the host's own tool it does not allow for a server's of the same name."""
    own = host.govern("search_notes", {}, lambda _: "ran")
    served = host.govern("search_notes", {}, lambda _: "ran", kind="mcp")

    assert (own.text, served.result.reason) == ("ran", "not_in_allow")


def test_a_schema_that_the_host_changes_later_is_another(host: Host) -> None:
    """The arguments of each call meet the schema that comes with it."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    before = host.govern("search_notes", {"n": 5}, lambda _: "ran", parameters=schema)
    schema["properties"] = {"n": {"type": "string"}}
    after = host.govern("search_notes", {"n": 5}, lambda _: "ran", parameters=schema)

    assert (before.text, after.result.reason) == ("ran", "invalid_arguments")


def test_invented_names_do_not_pile_up(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model may call any number of tools that do not exist."""
    monkeypatch.setattr(foreign, "MAX_PIPELINES", 3)
    reasons = {host.govern(f"invented_{number}", {}, lambda _: "ran").result.reason for number in range(10)}
    [(_, tools)] = host._foreign.values()

    assert reasons == {"not_in_allow"}
    assert len(tools._pipelines) <= 3
    assert host.govern("search_notes", {}, lambda _: "ran").text == "ran"


def test_a_name_of_ours_in_any_case(host: Host) -> None:
    """Rules and calls know no difference, so a host can ask before it lets a tool of its own bear such a name."""
    assert [host.has(name) for name in ("read_file", "Read_File", "search_notes")] == [True, True, False]


@pytest.mark.parametrize("name", ["delete_file", "DELETE_FILE", "send_mail"])
async def test_what_a_host_cannot_read_is_refused_without_a_question(place: Place, name: str) -> None:
    """Its events are left, with what there was to read; a yes would be one to nobody knows what."""
    place.profile.write_text(place.profile.read_text() + "mode: ask\n")
    asked: list[object] = []
    with place.open(approver=asked.append) as host:
        result = await host.arefuse(name, {"path": 5}, "The path is no text.", call_id="c1")

    assert (result.result.outcome, result.result.reason, result.pending) == ("error", "invalid_arguments", None)
    assert "The path is no text." in result.text
    assert asked == []
    [end] = place.fields("hook.tool.after")
    assert (end["tool"], end["stage"], end["args"]) == (name.lower(), "arguments", {"path": 5})
