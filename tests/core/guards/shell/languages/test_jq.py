"""jq filters: what is proven harmless, what is not, and what jq itself does with the former."""

import os
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from toolcharter.guards.shell.languages.jq import jq, yq

_HARMLESS = [
    "",
    ".",
    "keys",
    ".name",
    ".a.b | index($x|tonumber)",
    '.env, .["env"], .foo."env"',
    '{env}, {env: 1}, {a: 1, env}, {"env": 1}, {$env, a: 2}',
    ". as {env: $x} | $x",
    ". as [$a, {b: $c}] ?// $a | $a",
    '.[] | select(.a == "env") | {b, c: .d}',
    '"\\(.a) env \\("x" + "\\(.b)")" # env',
    '@base64 "x\\(.)", @json',
    "def f(g; $x): g + $x; f(.a; 1)",
    "def f: def g: 1; g; f",
    "reduce .[] as $i (0; . + $i)",
    "label $out | foreach .[] as $i (0; . + 1; if . > 3 then ., break $out else . end)",
    'try error("x") catch .',
    "[.[] | numbers] | add / length",
    "map(select(.x >= 1.5e3 and .y != .5)) | length // 0",
    ".a |= . + 1 | .b //= 2",
    "..[1:2]?, $__loc__, input_filename, ([inputs] | length)",
    '{(.a): 1, "a\\(.b)": 2}',
    '"\\u00e9\\n"',
    "{a: (if .a then 1 elif .b then 2 else 3 end), b, c: .if, d: .end}",
    "if . then {a, env} else {if: 1, end: 2} end | $if",
]
_HARMFUL = {
    "env": "'env' in a jq filter is the environment",
    "[env]": "'env' in a jq filter is the environment",
    "{a: if true then 1, env, 2 else 3 end}": "'env' in a jq filter is the environment",
    "{a: if true then if . then 1 end, env, 2 else 3 end}": "'env' in a jq filter is the environment",
    "end": "'end' closes nothing in the jq filter",
    "(end)": "'end' closes nothing in the jq filter",
    "if .": "the jq filter lacks a 'end'",
    "{a: env, b: 1}": "'env' in a jq filter is the environment",
    "{(env | tojson): 1}": "'env' in a jq filter is the environment",
    ".[env:2]": "'env' in a jq filter is the environment",
    '"\\(env)"': "'env' in a jq filter is the environment",
    '{"\\(env)": 1}': "'env' in a jq filter is the environment",
    '"a\\("b\\(env)")"': "'env' in a jq filter is the environment",
    "def env: 1; env": "'env' in a jq filter is the environment",
    "$ENV.PATH": "'$ENV' in a jq filter is the environment",
    "$ #\nENV": "'$ENV' in a jq filter is the environment",
    "{$ENV}": "'$ENV' in a jq filter is the environment",
    'include "a"; .': "'include' in a jq filter reads a file",
    'import "a" as b; .': "'import' in a jq filter reads a file",
    '"a" | modulemeta': "'modulemeta' in a jq filter reads a file",
    "map::f": "'::' in a jq filter reaches a module",
    "exec": "'exec' is no known function of jq",
    "# x\\\n env": "'#' is no known part of a jq filter",
    ".\r": "'\\r' is no known part of a jq filter",
    "(.": "the jq filter lacks a ')'",
    "[(.]": "']' closes nothing in the jq filter",
    "}": "'}' closes nothing in the jq filter",
    '"a': "a text of the jq filter does not end, or escapes what jq does not know",
    '"\\x"': "a text of the jq filter does not end, or escapes what jq does not know",
    '"\\(.': "the jq filter lacks a ')'",
}
_PARTS = [
    *("env", "$ENV", ".", "a", ":", ",", "{", "}", "(", ")", "[", "]", '"', "\\(", '"\\(', ')"', "|", ".env", "$x"),
    *(" as $x |", "def f: ", "; f", "#", "\n", "\\", "..", "1", "?", "//", "input", "+", '"a"', "if . then ", " end"),
    *("@text ", ".[", "{env}", "{env:1}", "{a:", "$ ", "keys", "{a:1,env}", "[env]", '"\\(env)"', "try "),
]


def printed(program: str) -> bytes:
    """What jq prints, both streams."""
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "WITNESS": "seen by " + "jq"}
    done = subprocess.run(
        ["jq", "-c", program],
        input=b'{"env": 3, "a": [1]}',
        env=environment,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return done.stdout + done.stderr


@each_row("program", _HARMLESS)
def test_filter_that_only_prints(program) -> None:
    """It is proven harmless."""
    assert jq(program) is None


@each_row(("program", "why"), _HARMFUL.items())
def test_filter_that_needs_naming(program, why) -> None:
    """It is objected to, and the jq says what for."""
    assert jq(program) == why


@pytest.mark.needs_program("jq")
def test_witness_is_seen() -> None:
    """What the next tests look for is there to be found."""
    assert b"seen by jq" in printed("env")


@pytest.mark.slow
@pytest.mark.needs_program("strace")
@pytest.mark.needs_program("jq")
@each_row("program", _HARMLESS)
def test_jq_agrees(program, watch) -> None:
    """The real jq does nothing with a harmless filter but read and print, and prints nothing of its environment."""
    assert (watch(["jq", "-R", program, "in"]), b"seen by" in printed(program)) == (([], [], []), False)


@pytest.mark.slow
@pytest.mark.needs_program("jq")
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(_PARTS), max_size=9).map("".join).filter(lambda program: jq(program) is None))
def test_jq_agrees_on_any(program) -> None:
    """Whatever is put together from what jq knows: what we call harmless prints nothing of the environment."""
    assert b"seen by" not in printed(program)


@each_row("part", ['"\\(', "{", "[", "def ", '"', "\\", "#\n", "1e", ".a"])
def test_long_filter_takes_linear_time(part) -> None:
    """A hostile filter of 50,000 characters is read, or refused, at once."""
    jq(part * (50_000 // len(part)))


@each_row("text", [".a.b", '.items[] | select(.kind == "Service")', ".loader"])
def test_expression_of_yq_that_computes_is_harmless(text: str) -> None:
    """It takes what it is given, and prints."""
    assert yq(text) is None


@each_row("text", ['load("x")', "strenv(A)", "env", "$ENV.A", 'load_str("/etc/passwd")', "eval(.a)"])
def test_expression_of_yq_that_reaches_further_has_to_be_named(text: str) -> None:
    """It reads files or the environment, or evaluates."""
    assert yq(text) is not None
