"""Masks in a question: each says how much it hides, and none hides what could be code."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from toolcharter.gate.approvals.escape import CODE_ARGUMENTS, MaskHidesCode, ShownCall, shown_call
from toolcharter.guards.secrets import MASK

# Put together at run time: it looks like a token, and is none.
TOKEN = "ghp_" + "a1B2" * 9
MASKED = "[40 characters masked]"


def shown(args: dict[str, Any], *commands: str, runs_arguments: bool = False) -> ShownCall:
    return shown_call(args, commands, runs_arguments=runs_arguments)


@each_row(
    ("args", "masked"),
    [
        pytest.param({"path": f"notes/{TOKEN}.md"}, {"path": f"notes/{MASKED}.md"}, id="in a text"),
        pytest.param({"to": f"{TOKEN} {TOKEN}"}, {"to": f"{MASKED} {MASKED}"}, id="two"),
        pytest.param({"password": "hunter-two"}, {"password": "[10 characters masked]"}, id="beside a telling name"),
        pytest.param({"more": [{"a": [TOKEN]}]}, {"more": [{"a": [MASKED]}]}, id="deep inside"),
        pytest.param({"to": f"{MASK} {TOKEN}"}, {"to": f"[10 characters masked] {MASKED}"}, id="beside our own word"),
    ],
)
def test_a_mask_says_how_much_it_hides(args, masked) -> None:
    """The person knows that there is more, and how long it is."""
    assert shown(args) == ShownCall(masked, (), is_masked=True)


def test_a_call_without_secrets_is_shown_as_it_is() -> None:
    """Our own word for a mask, numbers and emptiness too."""
    args = {"text": MASK, "count": 7, "none": None, "deep": {"list": [1.5, True]}}

    assert shown(args, "ls -l") == ShownCall(args, ("ls -l",), is_masked=False)


@each_row("code", list(";|&$(){}<>'\"`\n\\\x1b\u200b"))
def test_a_mask_never_hides_what_could_be_code(code) -> None:
    """Wherever the scrubber believes that a secret ends: then nobody is asked."""
    with pytest.raises(MaskHidesCode, match="could be code"):
        shown({"password": f"hunter{code}two"})


@each_row("name", [*sorted(CODE_ARGUMENTS), "Content", "COMMAND"])
def test_nothing_is_masked_in_code(name) -> None:
    """Not even a word: in a program it may be a name that means something."""
    told = f"40 characters of '{name}' look like a secret, would be masked, and could be code."

    with pytest.raises(MaskHidesCode) as raised:
        shown({name: f"echo {TOKEN}"})

    assert str(raised.value) == told


def test_all_arguments_of_a_tool_that_runs_them_are_code() -> None:
    """Whatever they are called."""
    with pytest.raises(MaskHidesCode):
        shown({"line": TOKEN}, runs_arguments=True)


@pytest.mark.parametrize("args", [{TOKEN: 1, TOKEN[:-1] + "9": 2}, {"more": {TOKEN: "x"}}])
def test_no_name_is_masked(args) -> None:
    """Two that are masked alike would be one, and the value of the other would be lost."""
    with pytest.raises(MaskHidesCode, match="name of an argument"):
        shown(args)


def test_what_nests_too_deep_is_not_shown() -> None:
    """The scrubber masks it as a whole, and it could be anything."""
    deep: Any = "x"
    for _ in range(300):
        deep = [deep]

    with pytest.raises(MaskHidesCode):
        shown({"deep": deep})


def test_a_command_is_masked_like_an_argument() -> None:
    """A word that is a secret is counted; one that could be code stops the question."""
    assert shown({}, f"login {TOKEN}").commands == (f"login {MASKED}",)
    with pytest.raises(MaskHidesCode):
        shown({}, """echo 'password="1x';touch${IFS}pwned;'"'""")


PIECES = st.sampled_from([TOKEN, MASK, "password=", "hunter22", " ", "\n", "'", '"', ";", "x", "ö", "\ud800"])


@given(st.lists(PIECES, max_size=8).map("".join), st.sampled_from(["path", "password", "content"]))
def test_all_is_shown_but_what_the_masks_count(text, name) -> None:
    """What is not masked stands there as it is, in its order, and the masks' lengths make up the rest."""
    try:
        found = shown({name: text}).args[name]
    except MaskHidesCode:
        return

    pieces = re.split(r"\[(\d+) characters masked\]", found)
    kept, hidden = pieces[::2], sum(map(int, pieces[1::2]))
    assert sum(map(len, kept)) + hidden == len(text)
    position = 0
    for piece in kept:
        position = text.index(piece, position) + len(piece)
