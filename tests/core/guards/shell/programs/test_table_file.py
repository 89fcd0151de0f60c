"""The format of tables: what it means, and that nothing else is taken."""

import pytest
from tests.rows import each_row

from toolcharter.guards.shell.programs.table import Operands, OptionSpec, Role, Table
from toolcharter.guards.shell.programs.table_file import TableError, parse_programs, parse_table

HEAD = 'programs = ["x"]\nsource = "x(1)"\n'


def table_of(text: str) -> Table:
    return parse_table(HEAD + text, "x.toml").table


def test_table_without_more_is_gnu_style_without_options() -> None:
    """The defaults let nothing through."""
    assert table_of("") == Table()


def test_options_are_found_by_every_spelling() -> None:
    """All spellings share the first as their name."""
    options = table_of(
        '[options]\n"-a --all" = ""\n"--[no-]pager" = ""\n"-k" = "text"\n"-c --color" = "text?"\n"--arg" = "text read"\n"-x" = "!"\n'
    ).options

    assert {**options} == {
        "-a": OptionSpec("-a"),
        "--all": OptionSpec("-a"),
        "--pager": OptionSpec("--pager"),
        "--no-pager": OptionSpec("--pager"),
        "-k": OptionSpec("-k", (Role("text"),)),
        "-c": OptionSpec("-c", (Role("text"),), is_attached=True),
        "--color": OptionSpec("-c", (Role("text"),), is_attached=True),
        "--arg": OptionSpec("--arg", (Role("text"), Role("read"))),
        "-x": OptionSpec("-x", needs_mention=True),
    }


@pytest.mark.parametrize("role", ["write", "program", "code"])
def test_what_writes_or_runs_is_named_without_saying_so(role: str) -> None:
    """A table cannot forget its `!`."""
    assert table_of(f'[options]\n"-o" = "{role}"').options["-o"] == OptionSpec("-o", (Role(role),), needs_mention=True)


@each_row(
    ("roles", "operands"),
    [
        pytest.param([], Operands(), id="none"),
        pytest.param(["read?", "write?"], Operands((Role("read"), Role("write"))), id="two at most"),
        pytest.param(["text", "read*"], Operands((Role("text"),), Role("read")), id="one and many"),
        pytest.param(["read*", "into"], Operands((), Role("read"), (Role("into"),)), id="many and one"),
        pytest.param(["!text*"], Operands((), Role("text", needs_mention=True)), id="named"),
        pytest.param(["only:a|b"], Operands((Role("only", "a|b"),)), id="a choice"),
        pytest.param(["format:sed"], Operands((Role("format", "sed"),)), id="a little language"),
    ],
)
def test_operands_have_a_beginning_a_middle_and_an_end(roles: list[str], operands: Operands) -> None:
    """The middle repeats."""
    assert table_of(f"operands = {roles}").operands == operands


def test_subcommands_share_groups_of_options() -> None:
    """Their own options count more than those of a group."""
    table = table_of(
        'style = "subcommands"\n'
        '[groups.g]\n"-a" = ""\n"-b" = ""\n'
        '[sub."one two"]\nuse = ["g"]\nrequires = ["-a"]\ninput_options = ["-b"]\n'
        '[sub."one two".options]\n"-b" = "text"\n'
        '[sub."one two".operands_if]\n"-b" = ["read"]\n'
    )

    assert [*table.subcommands] == ["one", "two"]
    one = table.subcommands["one"]
    assert one is table.subcommands["two"]
    assert {**one.options} == {"-a": OptionSpec("-a"), "-b": OptionSpec("-b", (Role("text"),))}
    assert (one.requires, one.input_options) == (frozenset({"-a"}), frozenset({"-b"}))
    assert one.operands_if == ((frozenset({"-b"}), Operands((Role("read"),))),)


def test_modules_are_tables_or_those_of_other_programs() -> None:
    """`same_as` is a name alone."""
    table = table_of('[modules.a]\nsame_as = "b"\n[modules.c]\nnumber = true\n')

    assert {**table.modules} == {"a": "b", "c": Table(number=True)}


def test_other_keys_are_taken_as_they_are() -> None:
    """Flags and texts."""
    text = (
        'style = "posix"\nabbreviations = false\nnumber = true\nbundled = true\nnamed = true\nalone_named = true\n'
        'runs_input = true\nappends = true\nnested = true\nwritten_out = true\nnamed_with_operands = true\nat_least = 2\ntransparent = "numbers"\narguments_from = "@"\ninput_operands = 1\n[prefixes]\n"+" = "text"\n'
    )

    assert table_of(text) == Table(
        style="posix",
        abbreviations=False,
        number=True,
        bundled=True,
        named=True,
        alone_named=True,
        runs_input=True,
        appends=True,
        nested=True,
        written_out=True,
        named_with_operands=True,
        at_least=2,
        transparent="numbers",
        arguments_from="@",
        input_operands=1,
        prefixes={"+": OptionSpec("+", (Role("text"),))},
    )


def test_no_option_of_a_program_and_its_subcommands_is_cut_short() -> None:
    """`false` is for the words before a subcommand alone, `"none"` for all of them."""
    text = 'style = "subcommands"\nabbreviations = {}\n[sub.a]\n[sub.a.behind]\n'

    tables = [table_of(text.format(value)) for value in ("true", "false", '"none"')]

    assert [table.abbreviations for table in tables] == [True, False, False]
    assert [table.subcommands["a"].abbreviations for table in tables] == [True, True, False]
    assert [table.subcommands["a"].behind for table in tables] == [Table(), Table(), Table(abbreviations=False)]


def test_subcommands_with_a_star_are_known_by_how_they_begin() -> None:
    """In the order of the file; the others by their whole name."""
    table = table_of('style = "subcommands"\n[sub."list-* a"]\n[sub."*"]\nnamed = true\n')

    assert {**table.subcommands} == {"a": Table()}
    assert table.patterns == (("list-", Table()), ("", Table(named=True)))


@each_row(
    ("text", "what"),
    [
        pytest.param('style = "posix"\n[behind]', "style 'posix' has no `behind`", id="behind in another style"),
        pytest.param("at_least = -1", "`at_least` is a number of words, not -1", id="fewer than no operands"),
        pytest.param(
            'abbreviations = "all"', "`abbreviations` is true, false or 'none', not 'all'", id="abbreviations"
        ),
        pytest.param('operands = ["run"]', "an inner command is for style 'posix': ", id="run in gnu style"),
        pytest.param("colour = true", "unknown key 'colour'; there are ", id="key"),
        pytest.param("input_operands = true", "`input_operands` is a number of words, not True", id="no number"),
        pytest.param("input_operands = -1", "`input_operands` is a number of words, not -1", id="a negative number"),
        pytest.param(
            'input_operands = "1"', "`input_operands` is a number of words, not '1'", id="a text for a number"
        ),
        pytest.param('style = "bsd"', "unknown style 'bsd'; there are ", id="style"),
        pytest.param("style = []", "unknown style []; there are ", id="style's type"),
        pytest.param('operands = ["file"]', "unknown role 'file'; there are ", id="role"),
        pytest.param('operands = ["read:x"]', "unknown role 'read:x'; there are ", id="role with too much"),
        pytest.param('operands = ["format"]', "unknown role 'format'; there are ", id="role with too little"),
        pytest.param(
            'operands = ["made:cake"]', "'made:cake' names no kind of output; there are requirements", id="output"
        ),
        pytest.param('operands = ["format:a.b"]', "'format:a.b' names no little language", id="little language"),
        pytest.param('operands = ["format:gitt"]', "'format:gitt' names no little language", id="unknown language"),
        pytest.param('operands = ["read*", "text*"]', "`operands`: only one role may repeat", id="two that repeat"),
        pytest.param('operands = "read*"', "`operands` is a list of texts", id="operands' type"),
        pytest.param("number = 1", "`number` is true or false, not 1", id="flag"),
        pytest.param(
            'transparent = "yes"',
            "`transparent` is 'always', 'numbers', 'settings', 'own variables' or 'at the end', not 'yes'",
            id="transparent",
        ),
        pytest.param("options = []", "`options` is no table", id="options' type"),
        pytest.param('[options]\n"-a" = true', "'-a' takes roles in a text, not True", id="option's type"),
        pytest.param('[options]\n" " = ""', "an option has no spelling", id="no spelling"),
        pytest.param('[options]\n"-a" = ""\n"-b -a" = ""', "'-a' stands in the table twice", id="spelling twice"),
        pytest.param('[options]\n"-a" = "text text?"', "'-a': only a single value may be left out", id="two values"),
        pytest.param(
            '[options]\n"-a --all" = ""\n"-b" = ""\n[named_if]\n"-b" = "-a"',
            "`named_if` names some spellings of an option and not all of them",
            id="a condition on one spelling",
        ),
        pytest.param('[operands_if]\n"-a" = []', "'-a' is no option of the table", id="operands of no option"),
        pytest.param('requires = ["-a"]', "'-a' is no option of the table", id="requires no option"),
        pytest.param('use = ["g"]', "there is no [groups.g]", id="no group"),
        pytest.param("[sub.a]", "`sub` and style 'subcommands' belong together", id="subcommands without style"),
        pytest.param('style = "subcommands"', "`sub` and style 'subcommands' belong together", id="style without"),
        pytest.param(
            'style = "subcommands"\n[sub."a b"]\n[sub.b]',
            "the subcommand 'b' stands in the table twice",
            id="sub twice",
        ),
        pytest.param('style = "subcommands"\n[sub.a]\nx = 1', "sub.a: unknown key 'x'; there are ", id="in sub"),
        pytest.param('style = "subcommands"\nsub.a = 1', "sub.a: `a` is no table", id="sub's type"),
        pytest.param('[predicates]\n"-a" = ""', "style 'gnu' has no `predicates`", id="predicates without style"),
        pytest.param('operands = ["command"]', "an inner command is for style 'posix': ", id="command in gnu style"),
        pytest.param("[modules.a]\nsame_as = 1", "`same_as` is a text", id="same_as"),
        pytest.param("a = ", "Invalid value", id="no TOML"),
    ],
)
def test_what_the_format_does_not_know_is_an_error_naming_the_file(text: str, what: str) -> None:
    """Nothing is skipped: a table that says less than its author meant would let more through."""
    with pytest.raises(TableError) as caught:
        table_of(text)

    assert str(caught.value).startswith(f"x.toml: {what}")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        pytest.param('source = "x(1)"', "`programs` is a list of texts", id="no programs"),
        pytest.param('programs = []\nsource = "x(1)"', "`programs` says whose table it is", id="not one program"),
        pytest.param('programs = ["x"]', "`source` is a text", id="no source"),
    ],
)
def test_table_says_whose_it_is_and_by_which_manual(text: str, what: str) -> None:
    """Tables are reviewed beside their sources."""
    with pytest.raises(TableError) as caught:
        parse_table(text, "x.toml")

    assert str(caught.value) == f"x.toml: {what}."


def test_first_line_alone_says_whose_a_table_is() -> None:
    """A parser for every file would take too long."""
    assert parse_programs('programs = ["test", "["]\n', "x.toml") == ("test", "[")
    with pytest.raises(TableError) as caught:
        parse_programs('programs = ["a", 1]\n', "x.toml")
    assert str(caught.value) == 'x.toml: the first line is not `programs = ["...", ...]`.'
