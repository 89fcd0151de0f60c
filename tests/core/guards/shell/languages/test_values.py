"""Words that are little languages: formats of git and printf, dates, Python's warnings, pytest's plugins."""

import pytest
from tests.rows import each_row

from toolcharter.guards.shell.languages.formats import date, printf
from toolcharter.guards.shell.languages.git import git_count, git_pretty, git_range, git_reflog
from toolcharter.guards.shell.languages.testing import pytest_plugin, python_warning


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
    """Subcommands that change the log have to be named."""
    assert git_reflog(text) == why


@each_row("text", ["error", "ignore::DeprecationWarning", "default:a b.c:", "once:::a:1", "i"])
def test_filter_of_python_s_own_warnings_is_harmless(text: str) -> None:
    """A category without a dot is a name that Python knows."""
    assert python_warning(text) is None


@each_row(
    ("text", "why"),
    [
        ("error::evil.Cls", "imports a module"),
        ("ignore:a: evil.Cls :b:1", "imports a module"),
        ("error:::a.b", "imports a module"),
        ("x", "holds an action that is not known"),
        ("", "holds an action that is not known"),
        ("=error", "holds an action that is not known"),
    ],
)
def test_filter_that_imports_has_to_be_named(text: str, why: str) -> None:
    """A category with a dot is imported; a module with one is not told from it."""
    assert python_warning(text) == why


@pytest.mark.parametrize("text", ["no:cacheprovider", "no:a.b", " no:x"])
def test_plugin_that_is_kept_out_is_harmless(text: str) -> None:
    """Nothing is imported."""
    assert pytest_plugin(text) is None


@each_row("text", ["evil", "", "xno:evil", "=no:x", "No:x"])
def test_plugin_that_is_imported_has_to_be_named(text: str) -> None:
    """Any other value is a module."""
    assert pytest_plugin(text) == "is a module that is imported"


@each_row("text", ["", "%s\\n", "100%%n", "%d%s\n", "%(%Y)T", "%-5.3sn", "%", "n%5"])
def test_format_that_prints_is_harmless(text: str) -> None:
    """Conversions print their words."""
    assert printf(text) is None


@each_row("text", ["%n", "a%%%n", "%5n", "%ln", "%-*.*n", "%s %n"])
def test_format_that_sets_a_variable_has_to_be_named(text: str) -> None:
    """In bash `printf %n PATH` sets PATH to 0, a folder of the workspace."""
    assert printf(text) == "sets a variable of the shell"


@each_row("text", ["now", "2024-01-01 12:00 UTC", 'TZ="Europe/Paris" now', 'TZ="UTC0" 12:00', "TZ"])
def test_date_in_a_zone_of_the_system_is_harmless(text: str) -> None:
    """Zones have names."""
    assert date(text) is None


@each_row("zone", ["/etc/passwd", ":/etc/passwd", "../../../../etc/passwd", "a/../../b", 'a\\"b', "a"])
def test_date_in_a_zone_of_any_file_has_to_be_named(zone: str) -> None:
    """A zone is a file, which a path would find anywhere; one without an end may be any."""
    end = "" if zone == "a" else '"'
    assert date(f'1 day ago TZ="{zone}{end}') == "names a zone that may be any file"


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
