"""What git is given; each harmless, or to be mentioned."""

from tests.rows import each_row

from toolcharter.guards.shell.languages import find_objection
from toolcharter.guards.shell.languages.git import git_count, git_pretty, git_range, git_reflog

HARMLESS = {
    "git_key": ["user.name", "remote.origin.url", "^alias\\.", "branch.main.merge"],
    "git_since": ["main", "HEAD~1", "origin/main"],
}
NAMED = {
    "git_key": ["http.extraheader", "credential.helper", "url", ".", "user|http", "a.b", ""],
    "git_since": ["--output=x", "-x"],
}


@each_row("name", HARMLESS)
def test_ordinary_value_needs_no_name(name: str) -> None:
    """It stays with the project, the host that one is logged in to, and what is there to be read."""
    assert [text for text in HARMLESS[name] if find_objection(name, text) is not None] == []


@each_row("name", NAMED)
def test_value_that_reaches_further_has_to_be_named(name: str) -> None:
    """It starts something, changes data, prints what is secret, or takes what it says from elsewhere."""
    assert [text for text in NAMED[name] if find_objection(name, text) is None] == []


@each_row("text", ["", "oneline", "%h %an <%ae> %s", "format:%C(auto)%h", "%(refname:short)", "%(trailers:key=a)"])
def test_format_that_shows_the_repository_is_harmless(text: str) -> None:
    """Placeholders print what commits and references hold."""
    assert git_pretty(text) is None


@each_row("text", ["%G?", "%h %GS", "format:%GG", "%(signature)", "%(*signature:key)"])
def test_format_that_looks_at_a_signature_has_to_be_named(text: str) -> None:
    """Git starts gpg for it."""
    assert git_pretty(text) == "looks at a signature, which starts gpg"


@each_row(
    ("text", "why"),
    [
        ("HEAD", None),
        ("show", None),
        ("origin/main@{1}", None),
        ("expire", "changes the log"),
        ("delete", "changes the log"),
        ("/etc/passwd", "may lie outside the workspace"),
        ("../x", "may lie outside the workspace"),
        ("a/../../x", "may lie outside the workspace"),
    ],
)
def test_log_of_references_is_only_shown(text: str, why: str | None) -> None:
    """Subcommands that change the log have to be mentioned."""
    assert git_reflog(text) == why


@each_row(
    ("text", "why"),
    [
        ("5", None),
        ("0", None),
        ("9999", None),
        ("-1", "is no small number of lines"),
        ("4294967295", "is no small number of lines"),
        ("1k", "is no small number of lines"),
        ("", "is no small number of lines"),
    ],
)
def test_lines_of_tags_are_a_small_number(text: str, why: str | None) -> None:
    """With minus one git makes a tag, and it takes some large numbers for that."""
    assert git_count(text) == why


@each_row(
    ("text", "why"),
    [
        ("1,5:src/app.py", None),
        (":main:src/app.py", None),
        ("/a/,+3:b", None),
        ("1,1:/etc/passwd", "leads elsewhere"),
        ("1,1:a/../../b", "leads elsewhere"),
    ],
)
def test_lines_of_a_file_elsewhere_have_to_be_named(text: str, why: str | None) -> None:
    """Git finds none there; whoever asks for them wants something else."""
    assert git_range(text) == why
