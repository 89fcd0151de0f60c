"""The script that compares how two checkouts judge command lines."""

import json
from pathlib import Path
from typing import Any

import pytest

import compare_verdicts

LINES = [("a.txt", "cat a.txt | wc -l"), ("a.txt", "rm -rf /"), ("b.txt", "cat a > b")]
RULES = ["bash:cat", "bash:cat *", "bash:wc", "bash:wc *"]


def test_a_line_is_judged_in_two_modes_and_by_its_commands() -> None:
    """The floor, the rules of the file, and each command's normal form with what a rule would have to mention."""
    verdicts = list(compare_verdicts.judge_lines(LINES, RULES))

    assert [(verdict["corpus"], verdict["line"]) for verdict in verdicts] == LINES
    assert [[form for form, *_ in verdict["forms"]] for verdict in verdicts] == [
        ["cat a.txt", "wc -l"],
        ["rm -rf /"],
        ["cat a >b"],
    ]
    assert [(verdict["floor"][0], verdict["rules"][0]) for verdict in verdicts] == [
        ("allow", "allow"),
        ("deny", "deny"),
        ("allow", "deny"),
    ]


def test_the_same_checkout_judges_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """What was written is judged anew, and nothing is reported."""
    monkeypatch.setattr(compare_verdicts, "corpora", lambda: iter(LINES))
    file = tmp_path / "before.jsonl"

    assert compare_verdicts.main(["--write", str(file)]) == 0
    written = capsys.readouterr().out
    assert compare_verdicts.main(["--against", str(file)]) == 0

    assert capsys.readouterr().out == f"{written}\n0 lines are judged differently.\n"


def test_each_difference_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """With both verdicts, and an exit status that a script can use."""
    monkeypatch.setattr(compare_verdicts, "corpora", lambda: iter(LINES))
    file = tmp_path / "before.jsonl"
    compare_verdicts.main(["--write", str(file)])
    rows = [json.loads(row) for row in file.read_text().splitlines()]
    now, rows[2]["floor"] = rows[2]["floor"], ["allow", "mode", None, None, None]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))

    assert compare_verdicts.main(["--against", str(file)]) == 1

    assert capsys.readouterr().out.endswith(
        "\na.txt: 'rm -rf /'\n"
        '  - floor: ["allow", "mode", null, null, null]\n'
        f"  + floor: {json.dumps(now)}\n"
        "\n1 lines are judged differently.\n"
    )


def test_the_corpora_are_those_of_the_tests_and_of_the_samples(tmp_path: Path) -> None:
    """Text files line by line, the texts of test modules but for their docstrings, and commands anywhere in a row."""
    tests, samples = tmp_path / compare_verdicts.GUARD_TESTS, tmp_path / "samples"
    tests.mkdir(parents=True)
    samples.mkdir()
    (tests / "everyday.txt").write_text("# A comment.\n[a kind]\nls\nls\\nwc\nls\n")
    (tests / "test_it.py").write_text(
        '"""Not this."""\nROWS = ["cat a"]\n\n\ndef f():\n    """Nor this."""\n    return "rm b"\n'
    )
    (samples / "rows.jsonl").write_text('{"cmd": "git log", "id": "x"}\n{"input": {"args": [{"command": "ls -l"}]}}\n')

    assert list(compare_verdicts.corpora(tmp_path, samples)) == [
        ("tests/core/guards/shell/everyday.txt", "ls"),
        ("tests/core/guards/shell/everyday.txt", "ls\nwc"),
        ("tests/core/guards/shell/test_it.py", "cat a"),
        ("tests/core/guards/shell/test_it.py", "rm b"),
        ("samples/rows.jsonl", "git log"),
        ("samples/rows.jsonl", "ls -l"),
    ]
