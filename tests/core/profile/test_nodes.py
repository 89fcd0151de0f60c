"""Places: every key, item and value is found again, and what is absent gives its nearest ancestor."""

import pytest
from tests.rows import each_row

from toolcharter.errors import Fault
from toolcharter.profile.nodes import Node, Places, describe_value, entries, in_file_order, items, short_repr, to_plain
from toolcharter.profile.parse import parse_yaml

TEXT = """\
tools:
  git:
    allowed_actions: [log,
      show]
  "read_file": {}
"""


@pytest.fixture
def tree() -> Node:
    faults: list[Fault] = []
    root = parse_yaml(TEXT, "p.yaml", faults)
    assert root is not None
    assert faults == []
    return root


@pytest.mark.parametrize(
    ("path", "entry", "value"),
    [
        pytest.param((), "1:1", "1:1", id="root"),
        pytest.param(("tools",), "1:1", "2:3", id="block mapping"),
        pytest.param(("tools", "git"), "2:3", "3:5", id="tool"),
        pytest.param(("tools", "git", "allowed_actions"), "3:5", "3:22", id="list"),
        pytest.param(("tools", "git", "allowed_actions", 0), "3:23", "3:23", id="item"),
        pytest.param(("tools", "git", "allowed_actions", 1), "4:7", "4:7", id="item on the next line"),
        pytest.param(("tools", "read_file"), "5:3", "5:16", id="quoted key"),
        pytest.param(("tools", "git", "allowed_actions", 2), "3:5", "3:5", id="absent item"),
        pytest.param(("tools", "git", "allowed_actions", "x"), "3:5", "3:5", id="key in a list"),
        pytest.param(("tools", "git", 0), "2:3", "2:3", id="index in a mapping"),
        pytest.param(("tools", "gti", "x", "y"), "1:1", "1:1", id="absent key"),
    ],
)
def test_every_path_has_a_place(tree, path, entry, value) -> None:
    """An entry is where its key begins, its value where that begins, an absent path where its ancestor's entry is."""
    places = Places(tree)

    assert (places.of(*path), places.value_of(*path)) == (f"p.yaml:{entry}", f"p.yaml:{value}")


def test_parts_that_name_nothing_are_left_out(tree) -> None:
    """Pydantic's locations hold tags of unions between the keys of the file."""
    path = ("tools", "function-after[x]", "git", "tuple", "allowed_actions", "str", 1, "int")

    assert Places(tree).existing_part(path) == ("tools", "git", "allowed_actions", 1)


def test_plain_values_have_no_places(tree) -> None:
    """Policies get dicts, lists and scalars."""
    assert to_plain(tree) == {"tools": {"git": {"allowed_actions": ["log", "show"]}, "read_file": {}}}


def test_a_node_of_another_kind_has_no_children(tree) -> None:
    """Asking a mapping for items, or a list for entries, finds none."""
    actions = entries(entries(entries(tree)["tools"].node)["git"].node)["allowed_actions"].node

    assert (items(tree), entries(actions)) == ([], {})


@each_row(
    ("value", "text"),
    [
        pytest.param(None, "nothing", id="null"),
        pytest.param(True, "true", id="true"),
        pytest.param(False, "false", id="false"),
        pytest.param(5, "the number 5", id="integer"),
        pytest.param(0.5, "the number 0.5", id="float"),
        pytest.param("a\nb", "the text 'a\\nb'", id="text"),
        pytest.param({}, "a mapping", id="mapping"),
        pytest.param([], "a list", id="list"),
    ],
)
def test_values_are_described_in_words(value, text) -> None:
    """A message says what stands in the file, in the words of YAML."""
    assert describe_value(value) == text


def test_faults_are_told_in_the_order_of_the_files() -> None:
    """File by file as they were met, from top to bottom; what stands in no file comes last, as it came."""
    places = ["git 1.0", "b.yaml:10:1", "a:1:b.yaml:2:9", "b.yaml:9:5", "b.yaml:9:4", "a:1:b.yaml:1:1", "cli 2.0"]

    told = in_file_order([Fault(place, "", "wrong.") for place in places])

    assert [fault.place for fault in told] == [
        "b.yaml:9:4",
        "b.yaml:9:5",
        "b.yaml:10:1",
        "a:1:b.yaml:1:1",
        "a:1:b.yaml:2:9",
        "git 1.0",
        "cli 2.0",
    ]


@pytest.mark.parametrize(
    ("length", "text"),
    [
        pytest.param(38, repr("x" * 38), id="fits"),
        pytest.param(39, "'" + "x" * 35 + "...'", id="one too long"),
    ],
)
def test_long_values_are_shortened_to_40_characters(length, text) -> None:
    """A message never repeats a whole file."""
    assert (short_repr("x" * length), len(text)) == (text, 40)
