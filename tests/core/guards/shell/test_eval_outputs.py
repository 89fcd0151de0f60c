"""`eval` of output that certain programs print for it is understood, as `source` is; `eval` of other output is not."""

import pytest
from tests.rows import each_row

from toolcharter.guards.shell.analyse import analyse

WS = "/home/dev/ws"
UNDERSTOOD = [
    'eval "$(ssh-agent -s)"',
    "eval $(ssh-agent)",
    "eval `ssh-agent -s`",
    'eval "$(direnv hook bash)"; make',
    'eval "$(pyenv init - 2>/dev/null)"',
    'eval "$(pyenv init --path)"',
    'eval "$(/opt/homebrew/bin/brew shellenv)"',
    'eval "$(starship init bash)"',
    'eval "$(mise activate bash)"; ls',
    "eval $(minikube -p web docker-env)",
    'eval "$(conda shell.bash hook)"',
    'eval "$(micromamba shell hook -s bash)"',
    'eval "$(kubectl completion bash)"',
]
NOT_UNDERSTOOD = [
    'eval "$(cat x)"',
    'eval "$x"',
    'eval "$(brew shellenv; cat x)"',
    'eval "$(cat x | brew shellenv)"',
    'eval "$(brew shellenv <x)"',
    'eval "$(brew shellenv)$x"',
    'eval "ls; $(brew shellenv)"',
    'eval "$(brew shellenv)" "$x"',
    'eval "$(PATH=. brew shellenv)"',
    'eval "$(./brew shellenv)"',
    'eval "$(brew "$x")"',
    'eval "$(ssh-agent sh x)"',
    'eval "$(direnv exec . cat x)"',
    'eval "$(pyenv exec cat x)"',
    'brew() { cat x; }; eval "$(brew shellenv)"',
    'bash -c "$(brew shellenv)"',
    'x=$(brew shellenv); eval "$x"',
]


@each_row("line", UNDERSTOOD)
def test_what_sets_up_a_shell_is_understood(line: str) -> None:
    """A rule has to mention the words."""
    found = analyse([line], WS)
    needs = {need.form for one in found.commands for need in one.needs}

    assert (found.unresolved_program, found.unsupported, found.catastrophe) == (None, None, None)
    assert "eval" in needs


@pytest.mark.parametrize("line", ['eval "$(direnv hook bash)"; make', 'eval "$(mise activate bash)"; ls'])
def test_later_commands_run_in_an_unknown_folder(line: str) -> None:
    """A rule for them has to cover every folder."""
    later = analyse([line], WS).commands[-1]

    assert (later.program, [need.form for need in later.needs]) == (line.rpartition(" ")[2], ["(unknown folder)"])


@each_row("line", NOT_UNDERSTOOD)
def test_any_other_text_that_is_evaluated_is_not(line: str) -> None:
    """The guard cannot know what runs, so the line is denied in every mode."""
    assert analyse([line], WS).unresolved_program is not None
