"""`toolcharter scrub`: the secret scrubber as a filter."""

import json

KEY = "AKIA" + "ABCDEFGHIJKLMNOP"


def test_text_is_filtered(run) -> None:
    """Secrets are masked, and all else, bytes that are no text too, passes unchanged."""
    result = run("scrub", stdin=f"key {KEY}\n".encode() + b"\xff\xfe\n")

    assert (result.stdout_bytes, result.stderr, result.exit_code) == (b"key [REDACTED]\n\xff\xfe\n", "", 0)


def test_lines_are_answered_one_by_one(run) -> None:
    """With `--jsonl` every line has an answer, malformed ones too."""
    given = json.dumps({"id": 1, "text": KEY}) + "\nnonsense\n"

    result = run("scrub", "--jsonl", "--workspace", ".", "--events", "stderr:", stdin=given)

    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        {"id": 1, "text": "[REDACTED]", "redactions": 1},
        {"id": None, "text": None, "redactions": 0, "reason": "invalid_arguments"},
    ]
    assert result.exit_code == 0


def test_a_file_is_given_by_standard_input(run) -> None:
    """Who names a file is told how it is read, and nothing is."""
    result = run("scrub", "my log.txt", stdin="")

    assert (result.stdout, result.exit_code) == ("", 2)
    assert result.stderr.endswith("Error: It reads standard input: write toolcharter scrub < 'my log.txt'.\n")
