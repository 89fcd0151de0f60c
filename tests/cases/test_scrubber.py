"""Samples of secrets and of what only looks like one, and those of set 004, through the filter and the gate."""

import json
import re
from typing import Any

import pytest
from tests.cases.conftest import Bench
from tests.rows import each_row
from tests.samples import row_params, sample_rows

from toolcharter import Toolbox, ToolPolicy, ToolSpec
from toolcharter.guards.secrets import MASK, scrub_line, scrub_text, scrub_value

PUBLIC_PREFIXES = (
    "https://hooks.slack.com/services/",
    *("sk-proj-", "sk-svcacct-", "sk-ant-api03-", "sk-ant-admin01-", "sk-", "github_pat_", "pscale_tkn_"),
)
SURVIVORS = 5  # Characters of a secret in a row that may stay, by the samples' own rule.

# Sample set 004 masks the key with its value; the design keeps key names. It has a mask of its own for servers.
OURS = {
    "004-scrubber-024": f"http://{MASK}:8080/api",
    "004-scrubber-040": "API_KEY=" + MASK,
}

SEEDS = sample_rows("seeds/004-scrubber")
SECRETS = sample_rows("security/secrets")
NEW = sample_rows("security_more/secrets_new")
POSITIVE = [row for row in SECRETS if row["label"] == "positive"]
NEGATIVE = [row for row in SECRETS if row["label"] == "negative"]


def by_the_filter(row: dict[str, Any]) -> tuple[str, int]:
    """What `toolcharter scrub --jsonl` answers."""
    said = json.loads(scrub_line(json.dumps(row).encode()))
    return said["text"], said["redactions"]


@pytest.fixture(scope="module")
def toolbox(tmp_path_factory: pytest.TempPathFactory) -> Toolbox:
    """One tool, which says what it is told."""
    echo = ToolSpec(
        "echo",
        ToolPolicy,
        lambda *_: lambda text: text,
        parameters={"type": "object", "properties": {"text": {"type": "string"}}},
    )
    return Bench(tmp_path_factory.mktemp("echo")).open({"tools": {"echo": {}}}, echo)


@pytest.mark.usefixtures("forgetful")
@each_row("row", row_params([row for row in SEEDS if "text" in row["input"]]))
def test_seed(row: Any) -> None:
    """What sample set 004 masks is masked, and what it lets through against its intent too."""
    masked, _ = by_the_filter({"id": row["id"], **row["input"]})

    if "unified" in row:
        assert row["unified"]["must_not_contain"] not in masked
    else:
        assert masked == OURS.get(row["id"], row["expect"].get("text"))


@pytest.mark.parametrize("row", row_params([row for row in SEEDS if "log_args" in row["input"]]))
def test_seed_of_logged_arguments(row: Any) -> None:
    """Arguments are scrubbed before they are logged."""
    assert scrub_value({"text": row["input"]["log_args"]}) == ({"text": row["unified"]["log"]}, 1)


@each_row("row", row_params(POSITIVE))
def test_secret_is_gone(row: Any, toolbox: Toolbox) -> None:
    """At most five characters in a row survive, nothing else is changed, and JSON stays JSON."""
    masked, _ = by_the_filter({"id": row["id"], "text": row["text"]})

    assert masked == without_secrets(row)
    assert survivors(row, masked) == []
    assert toolbox.call("echo", {"text": row["text"]}).text == masked
    if row.get("format") == "json":
        json.loads(masked)


def without_secrets(row: dict[str, Any]) -> str:
    text = row["text"]
    for span in reversed(row["secrets"]):
        text = text[: span["start"]] + MASK + text[span["end"] :]
    return text


def survivors(row: dict[str, Any], masked: str) -> list[str]:
    """What of the secrets is left that does not stand beside them as well."""
    around = without_secrets(row)
    bodies = [row["text"][span["start"] : span["end"]] for span in row["secrets"]]
    bodies = [body.removeprefix(next(filter(body.startswith, PUBLIC_PREFIXES), "")) for body in bodies]
    pieces = {body[at : at + SURVIVORS + 1] for body in bodies for at in range(len(body) - SURVIVORS)}
    return [piece for piece in pieces if piece in masked and piece not in around]


@each_row("row", row_params(NEGATIVE))
def test_what_is_no_secret_stays(row: Any, toolbox: Toolbox) -> None:
    """A clean text comes back as it is."""
    assert scrub_text(row["text"]) == (row["text"], 0)
    assert toolbox.call("echo", {"text": row["text"]}).text == row["text"]


@each_row("row", row_params([row for row in NEW if row["label"] == "positive"]))
def test_secret_of_a_kind_that_came_later_is_gone(row: Any, toolbox: Toolbox) -> None:
    """Nothing else is changed but for a prefix that the secret begins with, and JSON stays JSON."""
    masked, _ = by_the_filter({"id": row["id"], "text": row["text"]})

    assert re.fullmatch(around_secrets(row), masked, re.DOTALL)
    assert toolbox.call("echo", {"text": row["text"]}).text == masked
    if row.get("format") == "json":
        json.loads(masked)


def around_secrets(row: dict[str, Any]) -> str:
    """What is to be left of a row, as a pattern: `sdk-` in front of a secret may go with it."""
    parts, position = [], 0
    for span in row["secrets"]:
        before = row["text"][position : span["start"]]
        prefix = re.search(r"[\w.-]{0,8}\Z", before)
        head = before[: prefix.start()] if prefix else before
        parts.append(f"{re.escape(head)}(?:{re.escape(before[len(head) :])})?{re.escape(MASK)}")
        position = span["end"]
    return "".join((*parts, re.escape(row["text"][position:])))


@each_row("row", row_params([row for row in NEW if row["label"] == "negative"]))
def test_what_is_no_secret_of_a_kind_that_came_later_stays(row: Any, toolbox: Toolbox) -> None:
    """A clean text comes back as it is."""
    assert scrub_text(row["text"]) == (row["text"], 0)
    assert toolbox.call("echo", {"text": row["text"]}).text == row["text"]
