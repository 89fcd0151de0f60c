"""How words divide into options and operands, by tables made for one question each."""

from pathlib import Path

import pytest

from toolcharter.api.command import PathAccess
from toolcharter.guards.shell.nodes import Command, Inner, Reading, Word
from toolcharter.guards.shell.programs.requirements import read_command
from toolcharter.guards.shell.programs.tables import Tables

WS = "/home/dev/ws"


def word(text: str) -> Word:
    return Word(text, text, prefix=text)


def unknown(form: str, prefix: str = "") -> Word:
    return Word(form, prefix=prefix, splits=True)


def glob(pattern: str) -> Word:
    return Word(pattern, pattern=pattern, prefix=pattern.partition("*")[0], splits=True)


def each(value: str, form: str) -> Word:
    """What a loop's variable stands for: one word for certain."""
    return Word(form, pattern=value, prefix=value.partition("*")[0])


class Bench:
    """Reads commands of the program `x` by the table at hand."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def reading(self, table: str, *words: Word | str) -> Reading:
        (self.folder / "x.toml").write_text(f'programs = ["x"]\nsource = "x(1)"\n{table}')
        given = tuple(word(one) if isinstance(one, str) else one for one in ("x", *words))
        return read_command(Command(given), workspace=WS, tables=Tables(self.folder))

    def asked(self, table: str, *words: Word | str) -> tuple[list[str], list[str]]:
        """The needs and the reaches."""
        demand = self.reading(table, *words).demand
        return [need.form for need in demand.needs], [reach.path for reach in demand.reaches]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


GNU = 'operands = ["read*"]\n[options]\n"-a --all" = ""\n"-k --key" = "read"\n"-c --color" = "text?"\n"-o" = "write"\n"--keyring" = ""\n'


@pytest.mark.parametrize(
    ("words", "needs", "reaches"),
    [
        pytest.param(["-ak", "v", "w"], [], ["v", "w"], id="a cluster with a value behind it"),
        pytest.param(["-akv", "w"], [], ["v", "w"], id="a cluster with a value in it"),
        pytest.param(["-k=v"], [], ["=v", "v"], id="a value behind a sign"),
        pytest.param(["--key=v"], [], ["v"], id="a long option's value"),
        pytest.param(["--key", "v"], [], ["v"], id="a long option's value behind it"),
        pytest.param(["--al"], [], [], id="an abbreviation"),
        pytest.param(["--ke", "v"], ["--ke"], ["v"], id="an ambiguous abbreviation"),
        pytest.param(["--key"], [], [], id="a value that is missing"),
        pytest.param(["--all=v"], ["--all=v"], [], id="a value too many"),
        pytest.param(["--color", "v"], [], ["v"], id="an optional value that is not there"),
        pytest.param(["-cv", "w"], [], ["w"], id="an optional value that is"),
        pytest.param(["v", "-a", "w"], [], ["v", "w"], id="options behind operands"),
        pytest.param(["--", "-a", "--all"], [], ["-a", "--all"], id="no options any more"),
        pytest.param(["-"], [], [], id="the input"),
        pytest.param(["-z"], ["-z"], [], id="unknown"),
        pytest.param(["-az", "v"], ["-az"], ["v"], id="unknown in a cluster"),
        pytest.param(["-5"], ["-5"], [], id="a number that is no option"),
        pytest.param(["--zed=/etc"], ["--zed=/etc"], [], id="unknown with a value"),
        pytest.param(["-ao", "v"], ["-ao"], ["v"], id="a named one in a cluster"),
        pytest.param(["-ov"], ["-ov"], ["v"], id="a named one with its value"),
        pytest.param(["-o/etc/v"], ["-o/etc/v", "-o/etc/v"], [], id="a named one with a value outside"),
        pytest.param([glob("*")], [], ["*"], id="a pattern"),
        pytest.param([glob("-*")], ["-*"], [], id="a pattern of options"),
        pytest.param([glob("--color=*")], [], [], id="a pattern of harmless values"),
        pytest.param([glob("--key=*")], ["--key=*"], [], id="a pattern of paths in an option"),
        pytest.param([glob("--zed=*")], ["--zed=*"], [], id="a pattern in an unknown option"),
        pytest.param(["-k", glob("v*")], [], ["v*"], id="a pattern for a value"),
        pytest.param(["-k", unknown("$v")], ["$v"], [], id="a value that cannot be determined"),
        pytest.param([unknown("--key=$v", "--key=")], ["--key=$v"], [], id="part of a word that cannot be determined"),
        pytest.param([unknown("$v")], ["$v"], [], id="a word that cannot be determined"),
    ],
)
def test_gnu_style(bench: Bench, words: list[Word | str], needs: list[str], reaches: list[str]) -> None:
    """Options anywhere, clusters, attached and abbreviated; what is unknown has to be mentioned."""
    assert bench.asked(GNU, *words) == (needs, reaches)


def test_without_abbreviations_options_are_whole(bench: Bench) -> None:
    """Where a program does not know them, neither do we."""
    assert bench.asked("abbreviations = false\n" + GNU, "--al", "--all") == (["--al"], [])


def test_posix_style_ends_at_the_first_operand(bench: Bench) -> None:
    """Also at a pattern, and at a word that cannot be determined."""
    table = 'style = "posix"\noperands = ["read*"]\n[options]\n"-a" = ""\n'

    assert bench.asked(table, "-a", "v", "-z") == ([], ["v", "-z"])
    assert bench.asked(table, glob("v*"), "-z") == ([], ["v*", "-z"])
    assert bench.asked(table, "--", "-z") == ([], ["-z"])


def test_single_dash_style_has_long_options_with_one_dash(bench: Bench) -> None:
    """They are whole words, and take values behind a sign or a space."""
    table = 'style = "single-dash"\noperands = ["read*"]\n[options]\n"-all" = ""\n"-key" = "read"\n'

    assert bench.asked(table, "-all", "-key", "v", "-key=w", "-al") == (["-al"], ["v", "w"])


def test_words_style_has_no_options(bench: Bench) -> None:
    """Every word is an operand."""
    assert bench.asked('style = "words"\noperands = ["read*"]\n', "-a", "--", "b") == ([], ["-a", "--", "b"])


def test_number_may_be_an_option(bench: Bench) -> None:
    """Alone, with a fraction, and among letters."""
    table = 'number = true\noperands = ["read*"]\n[options]\n"-n" = ""\n'

    assert bench.asked(table, "-5", "-.5", "-n5", "-5n", "-5x", "-x5") == (["-5x", "-x5"], [])


def test_prefixes_tell_what_a_word_is(bench: Bench) -> None:
    """With its value behind them; other words are operands."""
    table = 'operands = ["read*"]\n[prefixes]\n"if=" = "read"\n"@" = "!read"\n"+" = ""\n'

    assert bench.asked(table, "if=v", "@w", "+5", "of=u") == (["@w"], ["v", "w", "of=u"])


def test_options_may_take_several_values(bench: Bench) -> None:
    """The first may be attached."""
    table = '[options]\n"--arg" = "text read"\n'

    assert bench.asked(table, "--arg", "n", "v", "--arg=n", "w") == ([], ["v", "w"])


@pytest.mark.parametrize(
    ("words", "needs", "reaches"),
    [
        pytest.param(["tf", "v", "w"], [], ["v", "w"], id="letters"),
        pytest.param(["ft", "v"], [], ["v"], id="the other way round"),
        pytest.param(["-tf", "v"], [], ["v"], id="with a dash"),
        pytest.param(["xf", "v"], ["xf"], ["v"], id="unknown"),
        pytest.param([unknown("$x"), "v"], ["$x"], ["v"], id="what cannot be determined"),
        pytest.param([], [], [], id="nothing"),
    ],
)
def test_first_word_may_be_a_bundle(bench: Bench, words, needs, reaches) -> None:
    """Its letters take their values from the next words in order, as tar's do."""
    table = 'bundled = true\noperands = ["read*"]\n[options]\n"-t" = ""\n"-f" = "read"\n'

    assert bench.asked(table, *words) == (needs, reaches)


def test_an_option_is_mentioned_because_of_another(bench: Bench) -> None:
    """Where it is given, or where it is not; wherever both stand."""
    table = (
        '[options]\n"-a" = ""\n"-b" = ""\n"-c" = ""\n"-d" = ""\n[named_if]\n"-a" = "-b"\n[named_unless]\n"-c" = "-d"\n'
    )

    assert bench.asked(table, "-a")[0] == bench.asked(table, "-b")[0] == []
    assert bench.asked(table, "-ba")[0] == bench.asked(table, "-b", "-ba")[0] == ["-ba"]
    assert bench.asked(table, "-c")[0] == ["-c"]
    assert bench.asked(table, "-cd")[0] == bench.asked(table, "-d", "-c")[0] == []


def test_what_a_flag_may_hide_in_a_cluster_is_mentioned(bench: Bench) -> None:
    """A short option that shares its key with a long one may take no value of its own."""
    table = '[options]\n"-u --update" = "text?"\n"-I" = "text?"\n"-c" = "read"\n"-r" = ""\n'

    assert bench.asked(table, "-uc")[0] == ["-uc"]
    assert bench.asked(table, "-u7")[0] == bench.asked(table, "-ur")[0] == bench.asked(table, "-Ic")[0] == []


def test_options_change_the_roles_of_operands(bench: Bench) -> None:
    """Wherever they stand; the first that applies counts."""
    table = 'operands = ["text", "read*"]\n[options]\n"-e" = "text"\n"-o" = ""\n[operands_if]\n"-e" = ["read*"]\n"-o" = []\n'

    assert bench.asked(table, "/x", "v") == ([], ["v"])
    assert bench.asked(table, "v", "w", "-o", "-e", "/x") == ([], ["v", "w"])
    assert bench.asked(table, "-o", "v") == (["v"], [])


@pytest.mark.parametrize(
    ("operands", "words", "needs", "reaches"),
    [
        pytest.param('["read?", "write?"]', ["a", "b"], ["b"], ["a", "b"], id="an output"),
        pytest.param('["read?", "write?"]', [glob("a*")], ["a*"], [], id="what may become an output"),
        pytest.param('["read?", "write?"]', [each("a*", '"$f"')], [], ["a*"], id="one word for certain"),
        pytest.param('["text", "read*"]', [glob("a*")], [], ["a*"], id="what may become paths"),
        pytest.param('["only:a|b", "read*"]', [glob("a*")], ["a*"], [], id="what has to be one text"),
        pytest.param('["only:a|b"]', ["b"], [], [], id="one of a choice"),
        pytest.param('["only:a|b"]', ["c"], ["c"], [], id="none of a choice"),
        pytest.param('["read*", "into"]', ["a"], [], ["a"], id="the last alone"),
        pytest.param('["read*", "into"]', ["-", "a", "."], [], ["a", "."], id="many and the last"),
        pytest.param('["read*", "into"]', ["a", ".git"], [".git"], ["a", ".git"], id="a protected target"),
        pytest.param('["!read*"]', ["a"], ["a"], ["a"], id="named"),
        pytest.param('["!read*"]', [glob("a*")], ["a*", "a*"], [], id="named, and more than one"),
        pytest.param("[]", ["a"], ["a"], [], id="too many"),
        pytest.param('["number*"]', ["1", "-2", "+3", "x", "٣"], ["x", "٣"], [], id="numbers"),
        pytest.param('["name*"]', ["a", "a=1", "a+=1", "a[0]", "=", "1a"], ["a[0]", "=", "1a"], [], id="names"),
        pytest.param('["local*"]', ["a", "a/b:c", "h:a"], ["h:a"], ["a", "a/b:c", "h:a"], id="this machine's"),
        pytest.param('["node*"]', ["a::b/../..", "../x::a", "::"], ["../x::a"], ["a"], id="addresses"),
        pytest.param('["node*"]', [glob("a*")], [], ["a*"], id="a pattern of addresses"),
        pytest.param('["folder*"]', ["a", "-"], ["-"], ["a"], id="folders"),
        pytest.param('["tree*"]', ["a/", "../b", "-"], ["../b"], ["a/", "a/**"], id="trees"),
        pytest.param('["code*"]', ["a"], ["a"], [], id="code"),
        pytest.param('["assignment*"]', ["LC_ALL=C", "A=b"], ["A=b"], [], id="assignments"),
        pytest.param('["assignment*"]', ["A"], ["A"], [], id="no assignment"),
        pytest.param('["format:sed", "read*"]', ["p", "a"], [], ["a"], id="a harmless script"),
        pytest.param('["format:sed", "read*"]', ["w x", "a"], ["w x"], ["a"], id="a script that writes"),
        pytest.param('["change*"]', ["/dev/null"], ["/dev/null"], [], id="a device"),
    ],
)
def test_operands_have_roles(bench: Bench, operands: str, words: list[Word | str], needs, reaches) -> None:
    """In order; a word that may become several only where all that follow are harmless."""
    assert bench.asked(f"operands = {operands}\n[options]\n", "--", *words) == (needs, reaches)


def test_protected_folder_protects_what_lies_in_it(bench: Bench) -> None:
    """However the path is written from there."""
    (bench.folder / "x.toml").write_text('programs = ["x"]\nsource = "x(1)"\noperands = ["change*"]\n')
    command = Command((word("x"), word("config")), folders=(".git",))

    demand = read_command(command, workspace=WS, tables=Tables(bench.folder)).demand

    assert [need.why for need in demand.needs] == ["config is protected"]


MOVE = 'style = "posix"\noperands = ["read", "command"]\n[options]\n"-C" = "chdir"\n'


def test_folder_to_move_to_counts_for_later_paths(bench: Bench) -> None:
    """A path may be seen from there or from where the command began; what it starts runs there."""
    reading = bench.reading(MOVE, "-C", "a", "-C", "b", "v", "ls")

    assert reading.demand.reaches == (
        PathAccess("a"),
        PathAccess("b", folders=(".", "a")),
        PathAccess("v", folders=(".", "a", "a/b")),
    )
    assert reading.inner == (Inner((word("ls"),), folders=("a/b",)),)


@pytest.mark.parametrize(
    ("words", "needs"),
    [
        pytest.param(["-C", "..", "v", "ls"], ["..", "v"], id="outside"),
        pytest.param(["-C", unknown("$x"), "v", "ls"], ["$x", "v"], id="what cannot be determined"),
        pytest.param([*["-C", "a"] * 8, "v", "ls"], ["v"], id="too many"),
        pytest.param([*["-C", "a"] * 8, "-C", "b", "v", "ls"], ["b", "v"], id="more than too many"),
    ],
)
def test_folder_that_cannot_be_told_makes_all_paths_so(bench: Bench, words, needs) -> None:
    """And the command that runs there has no folder either."""
    reading = bench.reading(MOVE, *words)

    assert [need.form for need in reading.demand.needs] == needs
    assert reading.inner == (Inner((word("ls"),), folders=()),)


def test_inner_command_takes_all_that_follows(bench: Bench) -> None:
    """Behind assignments, and options of its own among it."""
    table = 'style = "posix"\ntransparent = "always"\noperands = ["assignment*", "command"]\n'

    reading = bench.reading(table, "LC_ALL=C", Word("A=$x", prefix="A="), "ls", "-l", "B=c")

    assert [need.form for need in reading.demand.needs] == ["A=$x"]
    (inner,) = reading.inner
    assert inner.words == (word("ls"), word("-l"), word("B=c"))
    assert [assignment.form for assignment in inner.assignments] == ["LC_ALL=C"]
    assert not reading.is_transparent
    assert bench.reading(table, "ls") == Reading(
        reading.demand._replace(needs=()), (Inner((word("ls"),)),), is_transparent=True
    )
    assert bench.reading(table, "LC_ALL=C").inner == ()


XARGS = 'style = "posix"\nappends = true\noperands = ["command"]\n[options]\n"-I" = "replace"\n"-i" = "replace?"\n'


@pytest.mark.parametrize(
    ("words", "inner"),
    [
        pytest.param(["ls", "a"], ["ls", "a", None], id="appended"),
        pytest.param(["-I", "%", "ls", "a%b", "c"], ["ls", None, "c"], id="a placeholder"),
        pytest.param(["-i", "ls", "{}"], ["ls", None], id="the usual placeholder"),
        pytest.param(["-i@", "ls", "{}", "@"], ["ls", "{}", None], id="one that is attached"),
        pytest.param([], None, id="no command"),
    ],
)
def test_words_of_the_input_cannot_be_told(bench: Bench, words: list[Word | str], inner: list[str | None]) -> None:
    """Neither those that are appended nor those that take a placeholder's place."""
    started = [[word.text for word in one.words] for one in bench.reading(XARGS, *words).inner]

    assert started == ([] if inner is None else [inner])


SUB = (
    'style = "subcommands"\nalone_named = true\n[options]\n"-C" = "read"\n[sub."log show"]\noperands = ["read*"]\n'
    '[sub.log.options]\n"-p" = ""\n[sub.stash]\nnamed = true\n'
).replace(
    '[sub."log show"]\noperands = ["read*"]\n[sub.log.options]', '[sub.log]\noperands = ["read*"]\n[sub.log.options]'
)


@pytest.mark.parametrize(
    ("words", "needs", "reaches"),
    [
        pytest.param(["-C", "v", "log", "-p", "w"], [], ["v", "w"], id="options of both"),
        pytest.param(["-p", "log"], ["-p"], [], id="an option in the wrong place"),
        pytest.param(["log", "-C", "w"], ["-C"], ["w"], id="the other wrong place"),
        pytest.param(["stash"], ["stash"], [], id="named"),
        pytest.param(["push", "/etc/x"], ["push", "/etc/x"], [], id="unknown"),
        pytest.param([unknown("$x"), "log"], ["$x"], [], id="what cannot be determined"),
        pytest.param([], ["x"], [], id="none"),
    ],
)
def test_subcommands_have_tables_of_their_own(bench: Bench, words, needs, reaches) -> None:
    """Found by the first operand."""
    assert bench.asked(SUB, *words) == (needs, reaches)


def test_words_that_are_no_subcommand_may_be_operands(bench: Bench) -> None:
    """Where the table says what they are."""
    table = 'style = "subcommands"\noperands = ["read*"]\n[sub.log]\n'

    assert bench.asked(table, "v") == ([], ["v"])
    assert bench.asked(table, "log") == ([], [])


def test_required_option_keeps_a_program_from_more(bench: Bench) -> None:
    """Without it, the program itself has to be mentioned."""
    table = 'requires = ["-m"]\n[options]\n"-m --message" = "text"\n'

    assert bench.asked(table, "--message=x") == ([], [])
    assert bench.asked(table) == (["x"], [])


MODULES = (
    'style = "posix"\noperands = ["code"]\n[options]\n"-m" = "module"\n"-B" = ""\n'
    '[modules.own]\noperands = ["read*"]\n[modules.own.options]\n"-v" = ""\n'
    '[modules.other]\nsame_as = "y"\n[modules.gone]\nsame_as = "z"\n'
)


@pytest.mark.parametrize(
    ("words", "needs", "reaches"),
    [
        pytest.param(["-m", "own", "-v", "v", "-B"], ["-B"], ["v"], id="a table of its own"),
        pytest.param(["-Bmown", "v"], [], ["v"], id="attached"),
        pytest.param(["-m", "other", "-q", "v"], [], ["v"], id="another program's"),
        pytest.param(["-m", "gone", "v"], ["gone"], [], id="a program without a table"),
        pytest.param(["-mevil", "../v"], ["-mevil", "../v"], [], id="unknown"),
        pytest.param(["-m", unknown("$x"), unknown("$y")], ["$x", "$y"], [], id="what cannot be determined"),
        pytest.param(["own"], ["own"], [], id="no module"),
        pytest.param(["-m"], [], [], id="missing"),
    ],
)
def test_module_takes_all_that_follows(bench: Bench, words, needs, reaches) -> None:
    """As python's `-m` does."""
    (bench.folder / "y.toml").write_text(
        'programs = ["y"]\nsource = "y(1)"\noperands = ["read*"]\n[options]\n"-q" = ""\n'
    )

    assert bench.asked(MODULES, *words) == (needs, reaches)


def test_words_from_a_file_have_to_be_named(bench: Bench) -> None:
    """Wherever they stand, values of options too."""
    table = 'arguments_from = "@"\noperands = ["read*"]\n[options]\n"-k" = "text"\n'

    assert bench.asked(table, "-k", "@a", Word("@$b", prefix="@"), "c") == (["@a", "@$b", "@$b"], ["c"])


def test_shell_source_may_be_input_or_a_word(bench: Bench) -> None:
    """An option says which."""
    table = (
        'style = "posix"\nruns_input = true\ninput_options = ["-s"]\noperands = ["code", "text*"]\n'
        '[options]\n"-c" = ""\n"-s" = ""\n[operands_if]\n"-c" = ["script", "text*"]\n"-s" = ["text*"]\n'
    )

    assert bench.reading(table).runs_input
    assert bench.reading(table, "-").runs_input
    assert bench.reading(table, "-s", "a").runs_input
    assert not bench.reading(table, "a").runs_input
    script = bench.reading(table, "-c", "ls a", "b")
    assert (script.scripts, script.runs_input) == ((word("ls a"),), False)
    assert bench.reading(table, "-c", unknown("$x")).scripts == (unknown("$x"),)


def test_source_of_several_words_is_one_text(bench: Bench) -> None:
    """As `eval` joins them; one that cannot be determined makes all of it so."""
    table = 'style = "posix"\noperands = ["script*"]\n'

    assert bench.reading(table, "rm", "-r", "a b").scripts == (Word("rm -r a b", "rm -r a b", prefix="rm -r a b"),)
    told = bench.reading(table, "rm", unknown("$x"))
    assert (told.scripts, [need.form for need in told.demand.needs]) == ((Word("rm $x"),), ["$x"])


def test_dash_alone_may_be_an_option(bench: Bench) -> None:
    """Where the table says so."""
    table = 'style = "posix"\noperands = ["assignment*", "command"]\n[options]\n"-" = ""\n'

    assert bench.reading(table, "-", "ls").inner == (Inner((word("ls"),)),)
