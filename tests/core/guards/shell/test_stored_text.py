"""Text that a program keeps, such as a commit message, holds nothing that a file says."""

import pytest
from tests.rows import each_row

from toolcharter.guards.shell.analyse import analyse

WS = "/home/dev/ws"
EOF = "<<'EOF'\nfix: x\n\nbody with `ticks` and $vars\nEOF\n"
READERS = (
    "cat .env",
    "<.env",
    "head -1 .env",
    "cat <.env",
    "grep -r KEY",
    "base64 .env",
    "jq -r .version package.json",
    "git show HEAD:.env",
    "git diff",
    "git diff --stat -p",
    "git log -p",
    "git status -v",
    "git config --get remote.origin.url",
    "sh -c 'cat .env'",
    "env",
    "printenv TOKEN",
    "unheard-of",
    "cat",
    'echo "$(cat .env)"',
    'printf %s "$(echo "$(tail .env)")"',
    "cat .env | tr a b",
    "cat .env | wc -l | cat notes.md",
    "while read l; do echo a; done <.env",
    "timeout 5 cat .env",
    "{ cat .env; }",
    "true; cat .env",
)
TELLERS = (
    "date +%F",
    "pwd",
    "basename src/a.py",
    "git rev-parse --short HEAD",
    "git branch --show-current",
    "git log -1 --format=%s",
    "git status --short | head -3",
    "git diff --stat",
    "wc -l <notes.md",
    "ls | wc -l",
    "whoami",
    "echo a | tr a b",
    f"cat {EOF}",
    f"sed s/a/b/ {EOF}",
)


def needed(line: str) -> list[str]:
    judgement = analyse([line], WS)
    assert (judgement.unresolved_program, judgement.catastrophe) == (None, None)
    return [need.form for one in judgement.commands if one.program == "git" for need in one.needs]


@each_row(
    "message",
    [
        *(form % reader for form in ('"$(%s)"', '"at $(%s)."') for reader in READERS),
        # Quotes between backticks within quotes are not understood.
        *(f'"`{reader}`"' for reader in READERS if not {"`", '"'} & {*reader}),
    ],
)
def test_a_message_holds_nothing_that_a_file_says(message: str) -> None:
    """Whatever reads a file, the environment or what cannot be determined, a rule has to mention the whole message."""
    assert message in needed(f"git commit -m {message}")


@each_row("teller", TELLERS)
def test_a_message_may_hold_names_dates_and_what_the_line_says(teller: str) -> None:
    """Here-documents, dates, revisions, names and counts may become part of a message."""
    assert needed(f'git commit -m "$({teller})"') == []
    assert needed(f'git commit -am "$({teller}) and more"') == []


@each_row("reader", READERS)
def test_what_is_only_shown_may_hold_anything(reader: str) -> None:
    """What `echo` prints is scrubbed like all other output."""
    assert [one.needs for one in analyse([f'echo "$({reader})"'], WS).commands if one.program == "echo"][-1] == ()


@each_row(
    "line",
    [
        "git commit -F .env",
        "git commit --file=.env",
        "git commit -F.env",
        "git commit -F - <.env",
        "git commit -F -",
        "cat .env | git commit -F -",
        'echo "$(cat .env)" | git commit -F -',
        "{ git commit -F -; } <.env",
        "git commit -F /dev/stdin <.env",
        "git commit -F <(cat .env)",
        "cat .env | xargs -I{} git commit -m {}",
        'xargs -a .env -I{} git commit -m "{} $(date)"',
        'git commit -m "$(cat)" <.env',
    ],
)
def test_a_message_comes_from_no_file(line: str) -> None:
    """Neither as a file, nor by the standard input, nor by xargs."""
    assert needed(line) != []


@pytest.mark.parametrize(
    "line",
    [
        f"git commit -F - {EOF}",
        "git commit -F - <<<'fix: x'",
        "printf 'a\\n\\nb\\n' | git commit -F -",
        "echo fix | git commit --file=-",
    ],
)
def test_a_message_may_come_from_the_line_itself(line: str) -> None:
    """A here-text and what `echo` prints are as good as `-m`."""
    assert needed(line) == []


@pytest.mark.parametrize(
    "line",
    [
        'while read -r l; do echo "$l" | git commit -F -; done <.env',
        'while read -r l; do git commit -m "$(printf %s "$l")"; done <.env',
        'while read -r l; do m=$(echo "$l"); git commit -m "$m"; done <.env',
    ],
)
def test_what_a_loop_has_read_is_not_kept(line: str) -> None:
    """A variable that `read` has set says what a file says."""
    assert [need for one in analyse([line], WS).commands for need in one.needs]
