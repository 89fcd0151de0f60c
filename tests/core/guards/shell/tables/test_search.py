"""What lines of find, fd, grep and rg ask of a rule: they look below the workspace, and start and write nothing."""

import pytest
from tests.core.guards.shell.tables.requirements_of_lines import read_line, required_words
from tests.rows import each_row


@each_row(
    "line",
    [
        "find . -name '*.py' -not -path './.git/*'",
        "find src tests -type f -newer README.md",
        "find . -maxdepth 2 -type d -empty",
        "find . ( -name a -o -name b ) -print",
        "find . -printf '%p %s\\n'",
        "find -P . -mtime -7 -size +1k",
        "find . -perm -u+x -ls",
        "find . -newermt 2024-01-01",
        "find -O3 . -name x",
        "find -D tree . -name x",
        "find . -regextype posix-extended -regex '.*\\.(py|md)'",
        "grep -rn TODO src",
        "grep -E 'a|b' README.md src/app.py",
        "grep -rn --include='*.py' def .",
        "grep -c x -- README.md",
        "grep -A2 -B 2 TODO README.md",
        "grep -5 x README.md",
        "grep --colour=never -o 'x*' README.md",
        "grep -e a -e b README.md",
        "grep -f pats.txt README.md",
        "grep -v '^#' README.md",
        "grep -nH -m1 x README.md",
        "rg TODO",
        "rg -n -C3 TODO src",
        "rg -g '*.py' -i todo",
        "rg --files",
        "rg --files src -g '!*.md'",
        "rg -tpy 'def .*' src",
        "rg -e TODO -e FIXME README.md",
        "rg -uu --hidden x",
        "rg --json x | cat",
        "rg -o '\\w+' --no-filename README.md",
        "rg --type-list",
        "fd",
        "fd -e py",
        "fd -H -t f 'test_.*' tests",
        "fdfind --extension=py",
    ],
)
def test_ordinary_purpose_asks_for_nothing(line: str) -> None:
    """What a program is for is covered by a rule that names the program alone."""
    assert required_words(line) == ""


@each_row(
    ("line", "named"),
    [
        ("find . -delete", "-delete"),
        ("find . -execdir touch x ;", "-execdir"),
        ("find . -ok touch x ;", "-ok"),
        ("find . -okdir touch x ;", "-okdir"),
        ("find . -fprint x", "-fprint"),
        ("find . -fprint0 x", "-fprint0"),
        ("find . -fprintf x %p", "-fprintf"),
        ("find . -fls x", "-fls"),
        ("find . -files0-from x", "-files0-from"),
        ("find -files0-from x", "-files0-from"),
        ("find -L .", "-L"),
        ("ls --group-directories-first", "--group-directories-first"),
        ("ls -Fiso", "-Fiso"),
        ("ls -laF sub", "-laF"),
        ("ls --file-type -l", "--file-type"),
        ("ls -FL", "-FL"),
        ("ls --group-directorie sub", "--group-directorie"),
        ("find -H link_out", "-H"),
        ("find . -follow", "-follow"),
        ("find / -name x", "/"),
        ("find .. -name x", ".."),
        ("find . /etc -name x", "/etc"),
        ("find . -newer /etc/passwd", "/etc/passwd"),
        ("find . -neweram /etc/passwd", "/etc/passwd"),
        ("find . -samefile ../x", "../x"),
        ("find . -unknown", "-unknown"),
        ("find . -name x foo", "foo"),
        ("find -- -delete", "-delete"),
        ("find . -name -delete -delete", "-delete"),
        ("grep -f /etc/passwd x", "/etc/passwd"),
        ("grep -f../x x", "-f../x"),
        ("grep -rf /etc/passwd x", "/etc/passwd"),
        ("grep --file=/etc/passwd x", "--file=/etc/passwd"),
        ("grep --fil=/etc/passwd x", "--fil=/etc/passwd"),
        ("grep --exclude-from=/etc/passwd x .", "--exclude-from=/etc/passwd"),
        ("grep x /etc/passwd", "/etc/passwd"),
        ("grep x ../outside/secret.txt", "../outside/secret.txt"),
        ("grep -R x .", "-R"),
        ("grep -R x", "-R"),
        ("grep -nR x .", "-nR"),
        ("grep --dereference-rec x .", "--dereference-rec"),
        ("grep -r x ../outside", "../outside"),
        ("grep -e x ../outside/a", "../outside/a"),
        ("grep -X perl x y", "-X"),
        ("grep --unknown x y", "--unknown"),
        ("rg --pre=cat x", "--pre=cat"),
        ("rg --pre cat x", "--pre cat"),
        ("rg x --hostname-bin ./e", "--hostname-bin ./e"),
        ("rg -z x", "-z"),
        ("rg -nz x", "-nz"),
        ("rg --search-zip x", "--search-zip"),
        ("rg -L x", "-L"),
        ("rg --follow x", "--follow"),
        ("rg -f /etc/passwd", "/etc/passwd"),
        ("rg -f=/etc/passwd", "-f=/etc/passwd"),
        ("rg --file ../x", "../x"),
        ("rg --ignore-file=/etc/passwd x", "--ignore-file=/etc/passwd"),
        ("rg x /etc", "/etc"),
        ("rg x ../outside", "../outside"),
        ("rg --files /etc", "/etc"),
        ("rg --files ..", ".."),
        ("rg --pre-glob=* x", "'--pre-glob=*'"),
        ("rg --unknown x", "--unknown"),
        ("fd -x rm", "-x"),
        ("fd . -X rm", "-X"),
        ("fd --exec touch", "--exec"),
        ("fd -L x", "-L"),
        ("fd x /etc", "/etc"),
        ("fd --search-path /etc x", "/etc"),
        ("fd --base-directory .. x", "--base-directory .."),
        ("fd -l", "-l"),
        ("fd --ignore-file /etc/passwd x", "/etc/passwd"),
    ],
)
def test_more_than_the_ordinary_has_to_be_named(line: str, named: str) -> None:
    """What runs, writes or reads elsewhere is covered only by a rule that holds these words."""
    assert required_words(line) == named


@pytest.mark.parametrize(
    "line", ["find src -exec rm {} ;", "find src -type f -exec rm -- {} +", "find src -o -exec rm {} ;"]
)
def test_command_that_find_starts_is_told(line: str) -> None:
    """Find itself asks for nothing, and its command is judged like any other."""
    reading = read_line(line)

    assert (reading.demand.needs, reading.inner[0].words[0].text) == ((), "rm")
    assert (reading.inner[0].words[-1].pattern or "").startswith("src")


@each_row(
    ("line", "pattern"),
    [
        ("find src -exec cat {} ;", "src/**"),
        ("find src -type f -exec cat {} ;", "src"),
        ("find src -name '*.py' -exec cat {} ;", "src/**/*.py"),
        ("find src -name '*.py' -o -exec cat {} ;", "src/**"),
        ("find src -name '[[:alpha:]]*' -exec cat {} ;", "src/**"),
        ("find src -name 'a\\*' -exec cat {} ;", "src/**"),
        ("find src -printf -name -print -exec cat {} ;", "src/**"),
        ("find src -printf -type -print -exec cat {} ;", "src/**"),
        ("find -L src -type f -exec cat {} ;", "src/**"),
        ("find src -follow -type f -exec cat {} ;", "src/**"),
    ],
)
def test_links_among_what_is_found_are_told(line: str, pattern: str) -> None:
    """A test narrows what is looked at only where it is one, and has to hold."""
    assert read_line(line).inner[0].words[-1].pattern == pattern
