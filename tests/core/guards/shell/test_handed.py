"""Which arguments of a shell line, or of an argument vector, become programs."""

from tests.rows import each_row

from toolcharter import Invocation, code_arguments

SCHEMA = {"properties": {"x": {"type": "string"}}}


def names(line: str) -> tuple[str, ...]:
    """The arguments of a template whose places are quoted that become programs."""
    return code_arguments(lambda args: Invocation(commands=(line.replace("{x}", f"'{args['x']}'"),)), SCHEMA)


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
        "echo nothing",
    ],
)
def test_the_argument_of_a_line_is_data(line: str) -> None:
    """A program of the line gets it as a word."""
    assert names(line) == ()
