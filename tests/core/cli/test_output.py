"""What commands print, for pipes and for people."""

import io
import json

from toolcharter.cli import output


def test_what_orjson_refuses_is_still_a_line() -> None:
    """A lone surrogate and a huge integer are carried in ASCII."""
    stream = io.BytesIO()

    output.write_line(stream, {"text": "\udcff", "number": 2**70, "other": {1}})

    assert json.loads(stream.getvalue()) == {"text": "\udcff", "number": 2**70, "other": "{1}"}


def test_table_on_a_terminal_is_drawn_by_rich(monkeypatch, capsys) -> None:
    """Markup and control characters of a cell are shown, not obeyed."""
    monkeypatch.setattr(output, "is_terminal", lambda: True)

    output.print_table(("name", "text"), [("a", "[red]\x1b[31m")], ("bold",))

    drawn = [line.rstrip() for line in capsys.readouterr().out.splitlines() if line.strip(" ─")]
    assert [line.split() for line in drawn] == [["name", "text"], ["a", "[red]\\x1b[31m"]]


def test_a_row_of_a_plain_table_is_one_line(capsys) -> None:
    """A model names tools: its text forges no row, and drives no terminal behind the pipe."""
    output.print_table(("count", "tool"), [("1", "x\x1b]0;t\x07\n9      push\u202e")])

    assert capsys.readouterr().out == "count  tool\n1      x\\x1b]0;t\\x07\\n9      push\\u202e\n"


def test_no_terminal_without_one(capsys) -> None:
    """A captured stream is no terminal."""
    terminal = output.is_terminal()

    assert terminal is False
