"""`message` through the gate: what goes to which chat, and who has to agree."""

import json
from collections.abc import Callable
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest
from tests.plugins.messages.conftest import UMA, Mailbox
from tests.rows import each_row

from toolcharter import ApprovalRequest, Caller, ConfigurationError, Toolbox, ToolResult

Box = Callable[..., Toolbox]
FORWARD = {"forward": True, "forward_reason": "Send it to Bob, please."}


def send(box: Toolbox, message: str, **args: Any) -> ToolResult:
    return box.call("message", {"action": "send", "message": message, **args})


def outcome(result: ToolResult) -> tuple[str, str | None]:
    return result.outcome, result.reason


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def ways(tmp_path: Path) -> dict[str, Any]:
    """The current channel, and one that a person need not be asked about."""
    return {
        "chat": {"deliver": "local", "url": f"local:{tmp_path}/chat", "targets": ["7"]},
        "free": {"deliver": "local", "url": f"local:{tmp_path}/free", "targets": ["bob-*"], "unattended": True},
    }


def test_a_file_goes_to_the_current_chat(box: Box, ways: dict[str, Any], workspace: Path, tmp_path: Path) -> None:
    """Its text is the reply's, and is not sent a second time."""
    (workspace / "plan of mine.txt").write_text("Tea at four.")
    tools = box(ways)

    sent = send(tools, 'MEDIA:"plan of mine.txt"')

    assert sent.data == {"status": "sent", "channel": "chat", "target": "42", "media": ["plan of mine.txt"]}
    (line,) = lines(tmp_path / "chat")
    assert line["message"] == {
        "to": "42",
        "text": "",
        "media": [{"name": "plan of mine.txt", "content_type": "text/plain", "base64": "VGVhIGF0IGZvdXIu"}],
    }
    assert outcome(send(tools, "Here: MEDIA:plan.txt")) == ("error", "text_is_the_reply")
    assert outcome(send(tools, "Hello", channel="chat", target="42")) == ("error", "text_is_the_reply")


def test_a_chat_that_the_host_has_gets_the_file_with_the_reply(box: Box, workspace: Path) -> None:
    (workspace / "plan.txt").write_text("Tea.")

    result = send(box({}), "MEDIA:plan.txt")

    assert (result.data["status"], result.user_text) == ("handed_over", "MEDIA:plan.txt")


@each_row(
    "path, expected",
    [
        ("../outside.txt", ("denied", "path_outside_workspace")),
        ("/etc/passwd", ("denied", "path_outside_workspace")),
        ("link.txt", ("denied", "path_outside_workspace")),
        (".env", ("denied", "protected_path")),
        (".git/config", ("denied", "protected_path")),
        ("nothing.txt", ("error", "path_not_found")),
        ("large.bin", ("error", "file_too_large")),
        ("keys.txt", ("denied", "holds_a_secret")),
    ],
)
def test_files_come_from_the_workspace_alone(
    box: Box, ways: dict[str, Any], workspace: Path, path: str, expected: tuple[str, str]
) -> None:
    (workspace.parent / "outside.txt").write_text("secret")
    (workspace / "link.txt").unlink(missing_ok=True)
    (workspace / "link.txt").symlink_to(workspace.parent / "outside.txt")
    (workspace / ".env").write_text("A=1")
    (workspace / "large.bin").write_bytes(b"x" * 2000)
    (workspace / "keys.txt").write_text(f"key: ghp_{token_hex(18)}")

    assert outcome(send(box(ways, max_file_bytes=1000), f"MEDIA:{path}")) == expected


@each_row(
    "args, expected",
    [
        ({"channel": "mail", "target": "x", **FORWARD}, ("denied", "channel_not_allowed")),
        ({"target": "8", **FORWARD}, ("denied", "target_not_allowed")),
        ({"target": "7"}, ("denied", "forward_needed")),
        ({"target": "7", "forward": True}, ("denied", "forward_needed")),
        ({"target": "7", "forward_reason": "She said so."}, ("denied", "forward_needed")),
        ({"target": "7", "forward": True, "forward_reason": "x" * 501}, ("denied", "forward_needed")),
        ({"target": "7", **FORWARD}, ("denied", "approval_unavailable")),
        ({"channel": "free", "target": "bob-1", **FORWARD}, ("ok", None)),
        ({"channel": "free", "target": "eve", **FORWARD}, ("denied", "target_not_allowed")),
        ({"channel": "free", "target": "bob-1", "message": " ", **FORWARD}, ("error", "nothing_to_send")),
        ({"channel": "free", "target": "bob-1", "message": "x" * 101, **FORWARD}, ("error", "message_too_long")),
        ({"channel": "free", "target": "bob-1", "message": "MEDIA:a MEDIA:b", **FORWARD}, ("error", "too_many_files")),
    ],
)
def test_another_chat_needs_the_profile_a_reason_and_a_person(
    box: Box, ways: dict[str, Any], args: dict[str, Any], expected: tuple[str, str | None]
) -> None:
    """A page that orders to write to somebody ends in a denial where nobody is there to ask."""
    tools = box(ways, max_chars=100, max_files=1)

    assert outcome(send(tools, **{"message": "Hello.", **args})) == expected


def test_a_person_sees_where_it_goes(box: Box, ways: dict[str, Any], tmp_path: Path) -> None:
    asked: list[ApprovalRequest] = []

    def answer(request: ApprovalRequest) -> Any:
        asked.append(request)
        return "allow_always"

    tools = box(ways, answer)
    for _ in range(2):
        assert send(tools, "Hello.", target="7", **FORWARD).user_text == "Sent to chat 7. Send it to Bob, please."

    assert [one.message for one in asked] == ["A message to '7' on 'chat'."] * 2
    assert [line["message"]["text"] for line in lines(tmp_path / "chat")] == ["Hello."] * 2
    assert lines(tmp_path / "chat")[0]["reason"] == "Send it to Bob, please."


def test_outside_a_chat_both_are_named(box: Box, ways: dict[str, Any]) -> None:
    alone = box(ways).for_caller(Caller(agent="ada"))

    assert outcome(send(alone, "MEDIA:plan.txt")) == ("error", "no_chat")
    assert outcome(send(alone, "Hello.", channel="free", target="bob-1", **FORWARD)) == ("ok", None)


def test_the_chat_of_one_caller_is_not_that_of_another(
    box: Box, ways: dict[str, Any], workspace: Path, tmp_path: Path
) -> None:
    (workspace / "plan.txt").write_text("Tea.")
    tools = box(ways)
    for chat in ("42", "43"):
        view = tools.for_caller(Caller(agent="ada", user="u", channel="chat", chat=chat))
        assert outcome(send(view, "MEDIA:plan.txt")) == ("ok", None)
        assert outcome(send(view, "MEDIA:plan.txt", target="44", **FORWARD)) == ("denied", "target_not_allowed")

    assert [line["message"]["to"] for line in lines(tmp_path / "chat")] == ["42", "43"]


def test_no_secret_leaves_in_a_text(box: Box, ways: dict[str, Any], tmp_path: Path) -> None:
    secret = f"ghp_{token_hex(18)}"

    send(
        box(ways), f"It is {secret}", channel="free", target="bob-1", forward=True, forward_reason=f"He wants {secret}"
    )

    assert secret not in (tmp_path / "free").read_text()


def test_what_cannot_be_delivered_is_an_error(box: Box, ways: dict[str, Any], tmp_path: Path) -> None:
    """And goes nowhere else."""
    (tmp_path / "free").mkdir()

    result = send(box(ways), "Hello.", channel="free", target="bob-1", **FORWARD)

    assert (outcome(result), result.retryable) == (("error", "not_delivered"), True)
    assert not (tmp_path / "chat").exists()


def test_the_log_takes_messages(box: Box, caplog: pytest.LogCaptureFixture) -> None:
    tools = box({"log": {"targets": ["*"], "unattended": True}})

    assert outcome(send(tools, "Hello.", channel="log", target="all", **FORWARD)) == ("ok", None)

    (record,) = caplog.records
    assert record.getMessage() == "message to 'all' from agent 'ada': 'Hello.'"


@pytest.mark.slow
def test_mail_takes_messages(box: Box, mailbox: Mailbox) -> None:
    tools = box({"mail": {"deliver": "smtp", "url": mailbox.url(), "targets": ["*@example.org"], "unattended": True}})

    assert outcome(send(tools, "Hello.", channel="mail", target="bob@example.org", **FORWARD)) == ("ok", None)
    assert outcome(send(tools, "Hello.", channel="mail", target="bob@example.com", **FORWARD)) == (
        "denied",
        "target_not_allowed",
    )

    assert (mailbox.handler.to, UMA.user) == ([["bob@example.org"]], "uma")


@each_row(
    "way, says",
    [
        ({"deliver": "pigeon"}, "no installed plugin"),
        ({"deliver": "smtp", "url": "smtps://host"}, "`from` is no address"),
        ({"deliver": "local", "url": "local:x"}, "the URL is not `local:`"),
        ({"deliver": "webhook", "url": "ftp://x"}, "the URL is not"),
    ],
)
def test_a_channel_that_cannot_be_used_stops_the_start(box: Box, way: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        box({"other": way})

    assert says in str(raised.value)
