"""Samples of secrets and of what only looks like one, for the five kinds of source 004.

The five kinds: tokens of OpenAI, Anthropic, GitHub and AWS by their prefix, and values beside a key that
tells. A positive sample counts as one of them if its provider is such a one (`FIVE`) and its tier is `core`;
the rest, and other encodings, belong to a later issue. Every negative sample counts.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from toolcharter.guards.secrets import MASK, scrub_text, scrub_value

CASES = Path(__file__).parents[2].parent / "shared/cases"
FIVE = ("openai", "anthropic", "github", "aws_access_key_id", "aws_secret", "aws_sts", "generic", "header_token")
PUBLIC_PREFIXES = ("sk-proj-", "sk-svcacct-", "sk-ant-api03-", "sk-ant-admin01-", "sk-", "github_pat_")
SURVIVORS = 5  # Characters of a secret in a row that may stay, by the samples' own rule.

# Source 004 masks the key with its value; the design keeps key names.
KEY_KEPT = {"004-scrubber-040": "API_KEY=" + MASK}
LATER = {
    "004-scrubber-024": "values given at run time",
    "004-scrubber-056": "GitLab",
    "004-scrubber-062": "Hugging Face",
    "004-scrubber-066": "private key blocks",
    "004-scrubber-067": "passwords in URLs",
    "004-scrubber-070": "other key names",
    "004-scrubber-076": "zero-width characters",
}


def _rows(path: str) -> list[dict[str, Any]]:
    file = CASES / path
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


SEEDS = [row for row in _rows("seeds/004-scrubber.jsonl") if row["id"] not in LATER]
SECRETS = _rows("security/secrets.jsonl")
POSITIVE = [
    row for row in SECRETS if row["label"] == "positive" and row["tier"] == "core" and row["provider"].startswith(FIVE)
]
NEGATIVE = [row for row in SECRETS if row["label"] == "negative"]

pytestmark = pytest.mark.skipif(not SECRETS, reason="the samples lie beside the project, not in it")


def _params(rows: list[dict[str, Any]]) -> list[Any]:
    return [pytest.param(row, id=row["id"]) for row in rows]


@pytest.mark.parametrize("row", _params([row for row in SEEDS if "text" in row["input"]]))
def test_seed(row: Any) -> None:
    """What source 004 masks is masked, and what it lets through against its intent too."""
    masked, _ = scrub_text(row["input"]["text"])

    if "unified" in row:
        assert row["unified"]["must_not_contain"] not in masked
    else:
        assert masked == KEY_KEPT.get(row["id"], row["expect"]["text"])


@pytest.mark.parametrize("row", _params([row for row in SEEDS if "log_args" in row["input"]]))
def test_seed_of_logged_arguments(row: Any) -> None:
    """Arguments are scrubbed before they are logged."""
    assert scrub_value({"text": row["input"]["log_args"]}) == ({"text": row["unified"]["log"]}, 1)


@pytest.mark.parametrize("row", _params(POSITIVE))
def test_secret_of_the_five_kinds_is_gone(row: Any) -> None:
    """At most five characters in a row survive, and JSON stays JSON."""
    masked, _ = scrub_text(row["text"])

    for secret in (row["text"][span["start"] : span["end"]] for span in row["secrets"]):
        body = secret.removeprefix(next(filter(secret.startswith, PUBLIC_PREFIXES), ""))
        pieces = {body[index : index + SURVIVORS + 1] for index in range(len(body) - SURVIVORS)}
        assert [piece for piece in pieces if piece in masked] == []
    if row.get("format") == "json":
        json.loads(masked)


@pytest.mark.parametrize("row", _params(NEGATIVE))
def test_what_is_no_secret_stays(row: Any) -> None:
    """A clean text comes back as it is."""
    assert scrub_text(row["text"]) == (row["text"], 0)
