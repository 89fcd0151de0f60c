r"""sed scripts: what is proven harmless, what is not, and what sed itself does with the former."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from toolcharter.guards.shell.languages.sed import sed

_HARMLESS = [
    "",
    "p",
    "1,5p",
    "$p",
    "$!N;P;D",
    "1!G;h;$!d",
    "s/a/b/",
    "s/exec/EXEC/2gIpmM",
    "s/a/b/ ; p",
    "s,[^,]*$,,",
    "s|/usr|/opt|g",
    "s/[/]/x/",
    "s/[]/]/x/",
    "s/[^]/]/x/",
    "s/[[:alpha:]_]*/x/",
    "s/[[.a.]]/x/",
    "s/a/\\\nw f/",
    "s/a\\/w f/b/",
    "y/abc/a\\/c/",
    "/TODO/p",
    "/a/I,/b/Mp",
    "/a/,+3p",
    "/a/,~4p",
    "0~3p",
    "0,/x/d",
    "\\%/w f%p",
    "//!d",
    "2{p;q}",
    "/x/{s/a/b/;b};p",
    ":a;N;$!ba;s/\\n/ /g",
    ":a\nN\n$!b a\nT\nt",
    "$a w f",
    "1i\\\nw f\\\ne true\n2d",
    "1i\\  w f",
    "c x",
    "a x\\\n w f",
    "p # w f",
    "#n\np",
    "=;l;l 5;q5",
    "Q 1",
    "F;z;x;g;G;h;H;n;N;d;D;P",
    "v 4.2\np",
    "w /dev/stdout",
    "s/a/b/gw /dev/stderr",
    "r /dev/stdin",
]
_HARMFUL = {
    "1s/.*/touch x/e": "the sed flag 'e' runs what it made as a program",
    "s|.*|touch x|ge": "the sed flag 'e' runs what it made as a program",
    "s/a/b/ e": "the sed flag 'e' runs what it made as a program",
    "1 e touch x": "the sed command 'e' runs a program",
    "e": "the sed command 'e' runs a program",
    "w f": "the sed command 'w' writes to 'f'",
    "/x/w src/app.py": "the sed command 'w' writes to 'src/app.py'",
    "W f": "the sed command 'W' writes to 'f'",
    "w /dev/stdout ": "the sed command 'w' writes to '/dev/stdout '",
    "s/a/b/w f": "the sed command 'w' writes to 'f'",
    "s/a/b/\nw f": "the sed command 'w' writes to 'f'",
    "a x\nw f": "the sed command 'w' writes to 'f'",
    "# x\\\nw f": "the sed command 'w' writes to 'f'",
    ":a;w f": "the sed command 'w' writes to 'f'",
    "{w f\n}": "the sed command 'w' writes to 'f'",
    "r /etc/passwd": "the sed command 'r' reads '/etc/passwd'",
    "R other": "the sed command 'R' reads 'other'",
    "}": "the sed script closes a block that it did not open",
    "{p": "the sed script leaves a block open",
    "1}": "'}' takes no address in a sed script",
    "1#": "'#' takes no address in a sed script",
    "1:a": "':' takes no address in a sed script",
    ":": "a sed label lacks its name",
    "k": "'k' is no known sed command",
    "1": "the sed script ends too early",
    "1,p": "a sed address is missing after ','",
    "1~p": "a number is missing in a sed address",
    "+1p": "'+' is no known sed command",
    "1!!p": "'!' is no known sed command",
    "p p": "'p' follows a sed command",
    "s/a/b": "a sed expression lacks its '/'",
    "s/a\nb/c/": "a sed expression lacks its '/'",
    "s/a\\": "a sed expression lacks its '/'",
    "s[a[b[": "'[' is a strange delimiter for a sed expression",
    "s": "'' is a strange delimiter for a sed expression",
    "s/[a/b/": "a sed expression leaves a bracket open",
    "s/[[:a]/b/": "a sed expression lacks its ':]'",
    "s/[[:alpha:]/]/b/": "a sed expression has its delimiter in a bracket with another bracket",
    "s/\\c/x/e": "'\\c' in a sed expression is read differently from version to version",
    "y/[/]/abc/": "a '[' in a sed 'y' is read differently from sed to sed",
    "a": "the sed command 'a' lacks its text",
    "i\nx": "the sed command 'i' lacks its text",
    "a\\": "a sed text begins with a backslash that may mean several things",
    "a\\  \np": "a sed text begins with a backslash that may mean several things",
    "a\\\\\nw f": "a sed text begins with a backslash that may mean several things",
    "a x\\": "a sed text ends in a backslash",
}
_PARTS = [
    *("s", "/", "/", "\\", "[", "]", "^", "a", "i\\", "b", "p", "N", "w f", "{", "}", ";", "\n", " ", "!", ",", "1"),
    *("$", "~", "+", "g", "I", "#", ":", "t", "&", "s/a/b/", "s/[/]/", "\\/", "y/ab/cd/", "\\\n", "/x/", "[:alpha:]"),
    *("a x", "a\\\n", "x\\\\", "w /dev/stdout", "=", "q", "\ne touch g", "/e", "]/w f", "\nw f"),
]


@each_row("script", _HARMLESS)
def test_script_that_only_prints(script) -> None:
    """It is proven harmless."""
    assert sed(script) is None


@each_row(("script", "why"), _HARMFUL.items())
def test_script_that_needs_naming(script, why) -> None:
    """It is objected to, and the sed says what for."""
    assert sed(script) == why


@pytest.mark.needs_program("strace")
@each_row("script", _HARMLESS)
def test_sed_agrees(script, watch) -> None:
    """The real sed does nothing with a harmless script but read and print."""
    assert watch(["sed", "--", script, "in"]) == ([], [], [])


@pytest.mark.needs_program("strace")
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(_PARTS), max_size=9).map("".join).filter(lambda script: sed(script) is None))
def test_sed_agrees_on_any(watch, script) -> None:
    """Whatever is put together from what sed knows: what we call harmless is."""
    assert watch(["sed", "--", script, "in"]) == ([], [], [])


@each_row("part", ["s/[", "{", "s/a/b/;", "a\\\n", "[[:", "\\", "/[^"])
def test_long_script_takes_linear_time(part) -> None:
    """A hostile script of 50,000 characters is read, or refused, at once."""
    sed(part * (50_000 // len(part)))
    sed("s/" + part * (50_000 // len(part)))
