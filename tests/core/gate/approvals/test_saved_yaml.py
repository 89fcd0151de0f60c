"""A block list of YAML as its user wrote it: what is added and cut out, and that every other byte stays."""

import pytest
import yaml

from toolcharter.gate.approvals.saved_yaml import append_entry, is_blank, remove_entries

ENTRY = {"tool": "bash", "days": "3"}
NOTED = """\
# Mine.
- tool: a  # why
  days: 1

# Above the second.
- {tool: b, days: 2}
-
  tool: |-
    c
  days: 3
# The end."""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", True, id="nothing"),
        pytest.param("# a\n\n   # b\n---\n", True, id="comments"),
        pytest.param("# a\n- b\n", False, id="an entry"),
        pytest.param("[]\n", False, id="an empty list"),
        pytest.param("--- # no\n", False, id="more than the beginning of a document"),
    ],
)
def test_a_text_of_comments_is_blank(text: str, expected: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Then there is no list to which an entry could be added as the others are."""
    assert is_blank(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("# a\n", '# a\n- tool: "bash"\n', id="a comment"),
        pytest.param("- a: 1", '- a: 1\n- tool: "bash"\n', id="no newline at the end"),
        pytest.param("  - a: 1\n", '  - a: 1\n  - tool: "bash"\n', id="indented"),
    ],
)
def test_an_entry_comes_last(text: str, expected: str) -> None:
    """As far to the right as the others."""
    added = append_entry(text, {"tool": "bash"})

    assert added == expected
    assert yaml.safe_load(added)[-1] == {"tool": "bash"}


def test_an_entry_has_a_line_for_each_key() -> None:
    """So that its user can read and change it."""
    assert append_entry("# Mine.\n", ENTRY) == '# Mine.\n- tool: "bash"\n  days: "3"\n'


@pytest.mark.parametrize(
    "value",
    ["plain", "yes", "# no comment", "a: b", '"quoted"', "two\nlines", "tab\t", "\u2028", "\x00", "\U0001f600", ""],
)
def test_every_text_is_read_as_it_was_written(value: str) -> None:
    """Whatever YAML would take it for without quotes, and on one line."""
    added = append_entry("# Mine.\n", {"tool": value})

    assert yaml.safe_load(added) == [{"tool": value}]
    assert added.count("\n") == 2


@pytest.mark.parametrize(
    ("gone", "tools", "lost"),
    [
        pytest.param(set(), ["a", "b", "c"], "", id="none"),
        pytest.param({0}, ["b", "c"], "- tool: a  # why\n  days: 1\n", id="the first"),
        pytest.param({1}, ["a", "c"], "- {tool: b, days: 2}\n", id="one in a line"),
        pytest.param({2}, ["a", "b"], "-\n  tool: |-\n    c\n  days: 3\n", id="the last"),
        pytest.param({7}, ["a", "b", "c"], "", id="one that is not there"),
    ],
)
def test_an_entry_is_cut_out_alone(gone: set[int], tools: list[str], lost: str) -> None:
    """Comments before, behind and beside the others stay."""
    left = remove_entries(NOTED, gone)

    assert left == NOTED.replace(lost, "")
    assert [one["tool"] for one in yaml.safe_load(left)] == tools


def test_of_a_list_that_is_emptied_the_comments_are_left() -> None:
    """They are blank, so that the next entry may be added."""
    left = remove_entries(NOTED, {0, 1, 2})

    assert left.splitlines() == ["# Mine.", "", "# Above the second.", "# The end."]
    assert is_blank(left)


@pytest.mark.parametrize("text", ["[{tool: a}]\n", "[]\n", "tool: a\n"], ids=["in a line", "empty", "a mapping"])
def test_a_list_of_another_form_is_left_alone(text: str) -> None:
    """It is its user who has to write it as a block."""
    with pytest.raises(Exception, match="block list") as caught:
        append_entry(text, ENTRY)

    assert type(caught.value).__name__ == "UnsafeState"
