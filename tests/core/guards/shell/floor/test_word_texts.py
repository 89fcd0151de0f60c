from tests.rows import each_row

from toolcharter.guards.shell.floor.word_texts import OPAQUE, decode_escapes, likely_text, possible_texts
from toolcharter.guards.shell.nodes import Word

HOME = "/home/me"


@each_row(
    ("form", "text"),
    [
        ("~", HOME),
        ("~/x", f"{HOME}/x"),
        ("~bob/x", f"{HOME}/x"),
        ("~+/x", "./x"),
        ("~$x", "~"),
        ("$HOME/x", f"{HOME}/x"),
        ('"${HOME}"/*', f"{HOME}/*"),
        ("${HOME:?}", HOME),
        ("${X:?}/*", f"{OPAQUE}/*"),
        ("${X?}", OPAQUE),
        ("${X:-/etc}", "/etc"),
        ("${X-${Y:-/}}", "/"),
        ("${X%/*}/y", "/y"),
        ("$PWD/x", "./x"),
        ("$TMPDIR/x", "/tmp/x"),
        ("a$IFS$9b", "a b"),
        ("$1x$@y$", "xy"),
        ("$(pwd)/x", "./x"),
        ('"`pwd`"', "."),
        ("$(git rev-parse --show-toplevel)", "."),
        ("$(echo '/')", "/"),
        (r"$(printf '\x2f')", "/"),
        ("$(f $(g))/x", f"{OPAQUE}/x"),
        ("<(f)", OPAQUE),
        ("a<b", "a<b"),
        ("'/'*", "/*"),
        ("'*'", "\x1b"),
        (r"\*x\/", "\x1bx/"),
        (r'"a\*b$X"', "a\x1bb"),
        (r"$'\x2f\'e'tc", "/'etc"),
        ("'open", "open"),
        ('"open', "open"),
        ("$'open", "open"),
        ("$(open", OPAQUE),
        ("`pwd", "."),
        ("${HOME", HOME),
        ("$(f)$", OPAQUE),
    ],
)
def test_a_word_that_is_no_literal_is_read_as_the_worst_that_it_may_be(form: str, text: str) -> None:
    """Unset variables vanish, the home folder stands for itself, and what nobody can tell is marked."""
    assert likely_text(Word(form), HOME) == text


def test_a_literal_is_itself_whatever_it_looks_like() -> None:
    """A quoted tilde is a name."""
    assert [*possible_texts(Word("'~'", "~"), HOME)] == [("~", True)]


def test_hints_stand_for_the_word() -> None:
    """What the script assigned comes in the place of a guess, the tilde of a hint as the home folder."""
    assert [*possible_texts(Word("$x", splits=True, hints=("rm -rf", "~/x")), HOME)] == [
        ("rm", False),
        ("-rf", False),
        (f"{HOME}/x", False),
    ]


def test_defaults_within_defaults_end_somewhere() -> None:
    """Nobody nests them so deep, and nobody has to read them."""
    assert likely_text(Word("${a:-" * 2000 + "}" * 2000), HOME) == OPAQUE


@each_row(
    ("text", "decoded"),
    [
        (r"\x72\x6d", "rm"),
        (r"\162\155\40\0057", "rm /"),
        (r"\u0072\U0000006d", "rm"),
        (r"a\nb\tc", "a\nb\tc"),
        (r"\\x72", r"\x72"),
        (r"\xzz\q", r"\xzz\q"),
        ("end\\", "end\\"),
        (r"\Uffffffff", chr(0x10FFFF)),
    ],
)
def test_escapes_are_read_as_printf_reads_them(text: str, decoded: str) -> None:
    """Hexadecimal, octal, Unicode and the letters; anything else stays."""
    assert decode_escapes(text) == decoded
