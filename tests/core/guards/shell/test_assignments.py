"""Which assignments before a command a rule need not name."""

import pytest
from tests.rows import each_row

from toolcharter.guards.shell.assignments import assignment_violation, is_line_variable
from toolcharter.guards.shell.nodes import Assignment, Word

ENVIRONMENT = "changes the environment of a program"
VALUE = "gives a value that is not known to be harmless"


def assignment(form: str) -> Assignment:
    name, _, value = form.partition("=")
    return Assignment(name, Word(value, value, prefix=value), form)


@each_row(
    "form",
    [
        "LC_ALL=C",
        "LANG=C.UTF-8",
        "LC_TIME=de_DE.UTF-8",
        "TZ=UTC",
        "TZ=America/New_York",
        "TZ=America/Argentina/Buenos_Aires",
        "TZ=Etc/GMT+5",
        "TERM=xterm-256color",
        "COLUMNS=120",
        "NO_COLOR=1",
        "NO_COLOR=",
        "GIT_PAGER=cat",
        "GIT_PAGER=",
        "PAGER=cat",
        "AWS_PAGER=",
        "GIT_OPTIONAL_LOCKS=0",
        "PYTHONUNBUFFERED=1",
    ],
)
def test_harmless_value_of_a_harmless_name_passes(form: str) -> None:
    """They change how output looks."""
    assert assignment_violation(assignment(form)) is None


@each_row(
    ("form", "why"),
    [
        pytest.param("LC_ALL=zh_CN.GBK", VALUE, id="another encoding"),
        pytest.param("LC_ALL=../../x", VALUE, id="a locale that is a path"),
        pytest.param("LANG=de_DE", VALUE, id="an encoding that nobody names"),
        pytest.param("TZ=:/etc/passwd", VALUE, id="a zone that is a file"),
        pytest.param("TZ=../x", VALUE, id="a zone that leads up"),
        pytest.param("TZ=America/../x", VALUE, id="a zone that leads up from a region"),
        pytest.param("TZ=/etc/passwd", VALUE, id="a zone that is an absolute path"),
        pytest.param("TZ=src/Main", VALUE, id="a zone that may be a folder"),
        pytest.param("TZ=A/B/C/D", VALUE, id="a zone too deep"),
        pytest.param("TZ=America/New_York/", VALUE, id="a zone that is a folder"),
        pytest.param("TERM=", VALUE, id="no terminal"),
        pytest.param("COLUMNS=99999", VALUE, id="too wide"),
        pytest.param("GIT_PAGER=less", VALUE, id="a pager"),
        pytest.param("PAGER=cat x", VALUE, id="a pager with a word"),
        pytest.param("PAGER=./cat", VALUE, id="a pager of the workspace"),
        pytest.param("MANPAGER=cat", ENVIRONMENT, id="another pager"),
        pytest.param("LC_ALL=C\n", VALUE, id="a line end"),
        pytest.param("PATH=.", ENVIRONMENT, id="the path"),
        pytest.param("LD_PRELOAD=./x.so", ENVIRONMENT, id="the loader"),
        pytest.param("lc_all=C", ENVIRONMENT, id="another case"),
        pytest.param("LC_EVIL=C", ENVIRONMENT, id="no category"),
    ],
)
def test_any_other_has_to_be_named(form: str, why: str) -> None:
    """An unknown name, or a value beyond the known ones."""
    assert assignment_violation(assignment(form)) == why


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(Assignment("LC_ALL", Word("C", "C", prefix="C"), "LC_ALL+=C"), id="appended"),
        pytest.param(Assignment("LC_ALL", Word("C", "C", prefix="C"), "LC_ALL[0]=C"), id="an element"),
        pytest.param(Assignment("LC_ALL", Word('"$x"'), 'LC_ALL="$x"'), id="a value that cannot be determined"),
    ],
)
def test_harmless_name_is_not_enough(written: Assignment) -> None:
    """Its value has to be told, and be all of it."""
    assert assignment_violation(written) == ENVIRONMENT


@each_row("name", ["count", "f", "out", "rc", "N", "FILE", "PID", "branch_name"])
def test_a_name_of_the_line_itself_needs_no_rule(name: str) -> None:
    """No shell and no program gives it a meaning."""
    assert is_line_variable(name)


@each_row(
    "name",
    [
        *(
            "PATH",
            "path",
            "IFS",
            "LD_PRELOAD",
            "GIT_DIR",
            "BASH_ENV",
            "ENV",
            "PS4",
            "PYTHONPATH",
            "NODE_OPTIONS",
            "TMPDIR",
        ),
        *(
            "HOME",
            "http_proxy",
            "no_proxy",
            "npm_config_script_shell",
            "histchars",
            "cdpath",
            "CDPATH",
            "_",
            "_x",
            "f[0]",
        ),
    ],
)
def test_a_name_that_others_look_at_has_to_be_named(name: str) -> None:
    """It may be in the environment already, so that its value reaches programs."""
    assert not is_line_variable(name)


@each_row("form", ["CI=1", "NODE_ENV=test", "RUST_LOG=debug", "RUST_BACKTRACE=full", "GOOS=linux", "FORCE_COLOR=0"])
def test_what_a_build_is_for_needs_no_rule(form: str) -> None:
    """These values choose among what a program does anyway."""
    assert assignment_violation(assignment(form)) is None


@each_row(
    "form", ["NODE_ENV=../x", "RUST_LOG=a=b", "CI=$(x)", "GOOS=x", "GOFLAGS=-mod=mod", "RUSTFLAGS=1", "NODE_OPTIONS="]
)
def test_what_a_build_is_for_has_few_values(form: str) -> None:
    """Any other value, and any other name of these programs, has to be mentioned."""
    assert assignment_violation(assignment(form)) is not None
