"""awk programs: what is proven harmless, what is not, and what the awks themselves do with the former."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from toolcharter.guards.shell.languages.awk import awk

_AWKS = [
    pytest.param((name, *rest), marks=pytest.mark.needs_program(name), id=name)
    for name, *rest in (["gawk"], ["mawk"], ["busybox", "awk"])
]
_HARMLESS = [
    "{print\nif (1 > 0) print $1\nif (1 > 0) print x[1]\nif (1 > 0) print (2)\nif (1 > 0) print x++\nif (1 > 0) next}",
    "",
    "1",
    "{print $2}",
    "NR==n",
    "NR>=2 && NR<=5",
    "!x[$0]++",
    "/a/,/b/",
    '/a\\/b/{print NR": "$0}',
    "$1 ~ /[^a-z]+/ {n++} END {print n+0}",
    "/[[:alpha:]\\]]/",
    "/[]]x/",
    "$1>3{print $2/4}",
    "{s+=$1} END {print s/NR}",
    "{print (1>2)}",
    "{print length($0)/2}",
    "{print length/2}",
    "{x++/2}",
    '{printf "%s\\n", $1 > "/dev/stderr"}',
    '{print > "/dev/stdout"\n}',
    '/x/ {print $1 >> "/dev/null"; next} {print > "/dev/null"}',
    '{gsub(/a/, "b"); print toupper(substr($0, 1, 1)) # system("touch x")\n}',
    '{print "system(\\"touch x\\")"}',
    "/system/ {print}",
    "{getline; print}",
    "function f(x) {\n  return x * 2\n}\n{print f($1)}",
    'BEGIN {FS = OFS = "\\t"} $1 = $1',
    '{if ($1 > 2) print; else print "x"}',
    '{a[$1] = a[$1] "," $2} END {for (k in a) print k ": " a[k]}',
    "{print /x/ ? 1 : 2}",
    "{print \\\n$1}",
    "{print 1,\n2}",
    "BEGIN {print 1.5e3, .5, 2^3, 2**3, 7 % 2}",
    '{x /= 2; close("x"); delete a[1]; next}',
    "{if (x) y\nif (x)\n/a/}",
]
_HARMFUL = {
    'BEGIN{system("touch x")}': "'system' in an awk program runs a program",
    'BEGIN{system ("touch x")}': "'system' in an awk program runs a program",
    "BEGIN{for(k in ENVIRON) print k}": "'ENVIRON' in an awk program is the environment",
    'BEGIN{ARGV[1]="/etc/passwd"}': "'ARGV' in an awk program chooses the files that are read",
    'BEGIN{PROCINFO["a"]}': "'PROCINFO' in an awk program tells about the process and steers its input and output",
    '{print | "sh"}': "'|' in an awk program runs a program",
    'BEGIN{"ls" | getline x}': "'|' in an awk program runs a program",
    'BEGIN{"ls" |& getline x}': "'|' in an awk program runs a program",
    '{print > "x"}': "'>' in an awk program writes to a file",
    '{print >> "x"}': "'>' in an awk program writes to a file",
    '{print >= "x"}': "'>' in an awk program writes to a file",
    "{print $1 > $2}": "'>' in an awk program writes to a file",
    '{print (1)(2) > "x"}': "'>' in an awk program writes to a file",
    '{print 1,\n2 > "x"}': "'>' in an awk program writes to a file",
    '{print 1 in\na > "x"}': "'>' in an awk program writes to a file",
    '{print 1 +\n2 > "x"}': "'>' in an awk program writes to a file",
    '{print 1,\n\n2 > "x"}': "'>' in an awk program writes to a file",
    '{print 1 && # a\n # b\n\n2 > "x"}': "'>' in an awk program writes to a file",
    '{print > "/dev/stderr" "x"}': "'>' in an awk program writes to a file",
    '{print > "/dev/stderr" ".x"}': "'>' in an awk program writes to a file",
    '{getline x < "f"}': "'getline' in an awk program may read another file",
    '@include "x"': "'@' in an awk program loads files or calls what cannot be determined",
    '{f = "system"; @f("x")}': "'@' in an awk program loads files or calls what cannot be determined",
    "awk::x": "'::' in an awk program reaches other name spaces",
    "{f(1)}": "'f' is no known function of awk",
    "{f (1)}": "'f' is no known function of awk",
    '{print length / system("touch x") / 1}': "a '/' in the awk program may be a division or begin a regex",
    'x++ / system("touch x") / 1': "a '/' in the awk program may be a division or begin a regex",
    "{if (x) /a/}": "a '/' in the awk program may be a division or begin a regex",
    "/[/]/": "it cannot be determined where a regex of the awk program ends",
    "/[]/": "it cannot be determined where a regex of the awk program ends",
    "/a\nb/": "it cannot be determined where a regex of the awk program ends",
    '{print "a': "it cannot be determined where a string of the awk program ends",
    '{print "a\\\nb"}': "it cannot be determined where a string of the awk program ends",
    '# x\\\nBEGIN {system("touch x")}': "'#' is no known part of an awk program",
    "{print 1x}": "'1' is no known part of an awk program",
    "{print `ls`}": "'`' is no known part of an awk program",
    "1)": "the awk program closes a parenthesis that it did not open",
}
_PARTS = [
    *(
        "/",
        "/",
        "x",
        "$1",
        "1",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "print ",
        '"f"',
        '"',
        ">",
        ">>",
        "<",
        "getline ",
        "length ",
    ),
    *(
        "++",
        "\n",
        ";",
        " ",
        "~",
        "!",
        ",",
        "\\/",
        "\\\n",
        "#",
        "=",
        "if (x) ",
        "in ",
        "BEGIN ",
        "?",
        ":",
        "case ",
        "func ",
    ),
    *(
        "&&",
        "[^/]",
        "[]/]",
        "/x/",
        '"/dev/stderr"',
        "print x++ / 2",
        'system("touch f")',
        '{print > "f"}',
        '/;print > "f"',
    ),
]


@each_row("program", _HARMLESS)
def test_program_that_only_prints(program) -> None:
    """It is proven harmless."""
    assert awk(program) is None


@each_row(("program", "why"), _HARMFUL.items())
def test_program_that_needs_naming(program, why) -> None:
    """It is objected to, and the awk says what for."""
    assert awk(program) == why


@pytest.mark.slow
@pytest.mark.needs_program("strace")
@pytest.mark.parametrize("awk", _AWKS)
@pytest.mark.parametrize("program", _HARMLESS)
def test_awk_agrees(program, awk, watch) -> None:
    """No awk does more with a harmless program than read and print."""
    deeds = watch([*awk, "--", program, "in"])

    assert (
        deeds.started,
        [one for one in deeds.written if not one.startswith(("/dev/std", "/dev/null"))],
        deeds.read,
    ) == ([], [], [])


@pytest.mark.slow
@pytest.mark.needs_program("strace")
@pytest.mark.parametrize("awk", _AWKS)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=st.lists(st.sampled_from(_PARTS), max_size=8).map("".join).filter(lambda program: awk(program) is None))
def test_awk_agrees_on_any(watch, awk, program) -> None:
    """Whatever is put together from what awk knows: what we call harmless is."""
    deeds = watch([*awk, "--", program, "in"])

    assert (
        deeds.started,
        [one for one in deeds.written if not one.startswith(("/dev/std", "/dev/null"))],
        deeds.read,
    ) == ([], [], [])


@pytest.mark.slow
@each_row("part", ["/[", '"', "(", "x / ", "\\\n", "#\n", "/[[:a", "1e", "a[", "++/"])
def test_long_program_takes_linear_time(part) -> None:
    """A hostile program of 50,000 characters is read, or refused, at once."""
    awk(part * (50_000 // len(part)))
    awk("/" + part * (50_000 // len(part)))
