"""Which arguments of a shell line, or of an argument vector, become programs."""

from collections.abc import Mapping
from typing import Any

from tests.rows import each_row

from toolcharter import Invocation, code_arguments, with_input

SCHEMA = {"properties": {"x": {"type": "string"}}}


def names(line: str) -> tuple[str, ...]:
    """The arguments of a template whose places are quoted that become programs."""
    return code_arguments(lambda args: Invocation(commands=(line.replace("{x}", f"'{args['x']}'"),)), SCHEMA)


@each_row(
    ("argv", "kind", "is_code"),
    [
        (("sh", "-c", "{x}"), "array", True),
        (("sh", "-c", "{x}"), "object", True),
        (("awk", "{x}", "f"), "array", True),
        (("sh", "-c", "{x}"), "integer", False),
        (("cat", "{x}"), "array", False),
        (("cat", "{x}"), "object", False),
        (("sh", "*x"), "array", True),
        (("python3", "*x"), "array", True),
        (("perl", "*x"), "array", True),
        (("timeout", "*x"), "array", True),
        (("find", ".", "*x"), "array", True),
        (("ssh", "*x"), "array", True),
        (("wc", "*x"), "array", False),
        (("grep", "-n", "*x"), "array", False),
        (("python3", "report.py", "*x"), "array", False),
    ],
)
def test_values_that_are_no_texts_can_be_code(argv: tuple[str, ...], kind: str, is_code: bool) -> None:  # noqa: FBT001 - a row
    """A list is written as JSON, in which a shell finds `$(...)`, or gives a program its words; numbers hold no code."""

    def invocation(args: Mapping[str, Any]) -> Invocation:
        value = args["x"]
        words = [
            one if word == "*x" else word.replace("{x}", str(value))
            for word in argv
            for one in (value if word == "*x" else [word])
        ]
        return Invocation(commands=(tuple(words),))

    found = code_arguments(invocation, {"properties": {"x": {"type": kind}}})

    assert found == (("x",) if is_code else ())


@each_row(
    ("argv", "line"),
    [
        (("sh",), "sh <<<'rm -rf \"$x\"'"),
        (("timeout", "5", "bash", "-s"), "timeout 5 bash -s <<<'rm -rf \"$x\"'"),
        (("python3",), "python3 <<<'rm -rf \"$x\"'"),
        (("python3.12", "-u", "-"), "python3.12 -u - <<<'rm -rf \"$x\"'"),
        (("sh", "tidy.sh"), None),
        (("python3", "report.py"), None),
        (("python3", "-c", "print(1)"), None),
        (("cat",), None),
        (("wc", "-l", "sh"), None),
    ],
)
def test_what_a_program_reads_as_code_is_told(argv: tuple[str, ...], line: str | None) -> None:
    """What is data stays out of what rules see: it may be long, and say anything."""
    assert with_input(argv, 'rm -rf "$x"') == (argv if line is None else line)
    assert with_input(argv, "") == argv


@each_row(
    "line",
    [
        "sh -c {x}",
        "bash -lc {x}",
        "bash -c -- {x}",
        "busybox sh -c {x}",
        "echo {x} | sh",
        "echo {x} | bash -s",
        "bash <<< {x}",
        "bash {x}",
        "eval {x}",
        "source {x}",
        ". {x}",
        "exec {x}",
        "command {x}",
        "{x} y",
        "env {x}",
        "env A=1 {x} b",
        "timeout 5 {x}",
        "nice {x}",
        "nohup {x}",
        "sudo {x}",
        "su -c {x} bob",
        "watch {x}",
        "script -c {x}",
        "ssh host {x}",
        "find . -exec {x} \\;",
        "echo a | xargs {x}",
        "echo {x} | xargs ls",
        "xargs {x} < f",
        "python3 -c {x}",
        "python3 {x}",
        "perl -e {x}",
        "ruby -e {x}",
        "node -e {x}",
        "php -r {x}",
        "awk {x} f",
        "sed {x} f",
        "sed -e {x} f",
        "FOO={x}; $FOO",
        "PATH={x} ls",
        "LD_PRELOAD={x} ls",
        "echo $(sh -c {x})",
        "trap {x} EXIT",
        "let {x}",
        "declare {x}",
        "unset {x}",
        "test -v {x}",
        "printf -v {x} a",
        "[[ -v {x} ]]",
        "[[ {x} -eq 1 ]]",
        "(( {x} ))",
        "echo $(( {x} ))",
        "docker run a sh -c {x}",
        "git -c alias.x={x} x",
        "make SHELL={x}",
        "vim -c {x}",
        "tar --checkpoint-action=exec={x} -cf a b",
        "if {x}; then ls; fi",
        "python3 <<< {x}",
        "this does ( not parse {x}",
    ],
)
def test_the_argument_of_a_line_is_code(line: str) -> None:
    """A shell, an interpreter or a launcher gets it; what cannot be told counts, too."""
    assert names(line) == ("x",)


@each_row(
    "line",
    [
        "dig +short {x}",
        "curl -s https://example.org/{x}",
        "grep -n {x} notes.txt | head -5",
        "echo {x}",
        "ls {x} && wc -l {x}",
        "git log --author={x}",
        "cat {x} | sort | uniq -c",
        "python3 tools/report.py {x}",
        "bash tools/report.sh {x}",
        "jq .name {x}",
        "awk '{print $1}' {x}",
        "sed -n 1,5p {x}",
        "test -f {x} && cat {x}",
        "[ -n {x} ] && echo yes",
        "find . -name {x}",
        "for i in 1 2; do echo {x} $i; done",
        "docker ps --filter name={x}",
        "FOO={x} env",
        "python3 tools/report.py <<< {x}",
        "echo nothing",
    ],
)
def test_the_argument_of_a_line_is_data(line: str) -> None:
    """A program of the line gets it as a word."""
    assert names(line) == ()
