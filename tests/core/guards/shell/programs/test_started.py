"""Tables of programs that start others for a project, that have groups of subcommands, and words for other programs."""

import pytest
from tests.rows import each_row

from toolcharter.api.command import AnalysedCommand
from toolcharter.guards.shell.analyse import analyse
from toolcharter.guards.shell.programs.tables import CORE_TABLES, Tables

TABLE = """programs = ["frob"]
source = "frob(1)"
style = "subcommands"
abbreviations = "none"
[options]
"-v" = ""
[sub.run]
style = "posix"
operands = ["run"]
[sub.run.options]
"-m" = "text"
[sub.test]
operands = ["text*"]
[sub.test.behind]
operands = ["passed*"]
[sub.test.behind.options]
"--fast" = ""
[sub.add]
named_with_operands = true
operands = ["text*"]
[sub.take]
written_out = true
requires = ["-q"]
operands = ["text*"]
[sub.take.options]
"-q" = ""
"-v" = ""
[sub.ask]
at_least = 2
operands = ["text*"]
[sub.tell]
at_least = 1
requires = ["-h"]
operands = ["text*"]
[sub.tell.options]
"-h" = ""
[sub."list list-*"]
operands = ["text*"]
[sub.query]
at_least = 2
operands = ["text*"]
[sub.query.options]
"-q" = ""
[sub.cloud]
style = "subcommands"
nested = true
[sub.cloud.sub."show"]
operands = ["text*"]
[sub.file]
style = "subcommands"
operands = ["format:yq", "read*"]
[sub.file.options]
"-i" = "!"
"-r" = ""
[sub.file.sub.help]
"""


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    file = tmp_path_factory.mktemp("tables") / "frob.toml"
    file.write_text(TABLE)
    return CORE_TABLES.with_added([file])


def judged(line: str, tables: Tables) -> tuple[AnalysedCommand, ...]:
    return analyse([line], "/work/space", tables).commands


def needs(one: AnalysedCommand) -> list[str]:
    return [*dict.fromkeys(need.form for need in one.needs)]


@each_row(
    ("line", "named"),
    [
        pytest.param("frob run sort -k2 a.md", ["sort"], id="the program"),
        pytest.param("frob run sort -o b.md a.md", ["sort", "-o"], id="what it would ask for"),
        pytest.param("frob run sort ../a.md", ["sort", "../a.md"], id="a path outside"),
        pytest.param("frob run -m x wc a.md", ["wc"], id="behind the starter's own options"),
        pytest.param("frob run ./x --y", ["./x", "--y"], id="a program of the workspace"),
        pytest.param("frob run", [], id="nothing to start"),
        pytest.param("frob run timeout 5 sort a.md", ["timeout"], id="a starter that it starts"),
    ],
)
def test_starter_asks_for_what_it_starts(line: str, named: list[str], tables: Tables) -> None:
    """One rule covers both, and grants no more of the second program than its own rule would."""
    assert needs(judged(line, tables)[0]) == named


def test_what_is_started_is_seen_by_deny_rules_and_needs_no_rule_of_its_own(tables: Tables) -> None:
    """What that command starts in turn needs one."""
    commands = judged("frob run timeout 5 sort -o b.md a.md", tables)

    assert [(one.form, one.is_transparent, needs(one)) for one in commands] == [
        ("frob run timeout 5 sort -o b.md a.md", False, ["timeout"]),
        ("timeout 5 sort -o b.md a.md", True, []),
        ("sort -o b.md a.md", False, ["-o"]),
    ]


@each_row(
    ("line", "named"),
    [
        pytest.param("frob test a -- --fast b", [], id="an option that is known"),
        pytest.param("frob test -- --slow", ["--slow"], id="an option that is not"),
        pytest.param("frob test -- ../b", ["../b"], id="a path outside"),
        pytest.param("frob test --fast", ["--fast"], id="an option in front"),
        pytest.param("frob test --", [], id="nothing"),
        pytest.param('frob test -- "$x"', ['"$x"'], id="what cannot be determined"),
        pytest.param("frob add", [], id="no operand"),
        pytest.param("frob add x", ["add"], id="an operand"),
        pytest.param("frob ask a b", [], id="enough operands"),
        pytest.param("frob ask a", ["ask", "a"], id="too few operands"),
        pytest.param("frob query -q a", ["query", "-q", "a"], id="too few operands, all to be written out"),
        pytest.param("frob query -q a b", [], id="enough of them"),
        pytest.param("frob take -v a", ["take", "-v", "a"], id="without the option, all to be written out"),
        pytest.param("frob take -q a", [], id="with it"),
        pytest.param("frob tell a", ["tell"], id="enough operands without the option"),
        pytest.param("frob tell -h", [], id="the option without an operand"),
        pytest.param("frob tell", ["tell"], id="neither"),
        pytest.param("frob list-all x", [], id="a subcommand with a star"),
        pytest.param("frob lists", ["lists"], id="one that only begins alike"),
        pytest.param("frob cloud disks old show x", [], id="groups within groups"),
        pytest.param("frob cloud disks burn", ["burn"], id="groups, and no subcommand"),
        pytest.param("frob cloud Disks show", ["Disks"], id="no plain word"),
        pytest.param("frob file .a x.yml -r", [], id="an option behind a word that is no subcommand"),
        pytest.param("frob file .a x.yml -i", ["-i"], id="one that has to be mentioned"),
        pytest.param("frob file .a ../x.yml", ["../x.yml"], id="a path behind it"),
        pytest.param("frob file help", [], id="a subcommand beside such words"),
        pytest.param("frob burn --all x", ["burn", "--all"], id="an option of a subcommand that is not known"),
    ],
)
def test_words_for_other_programs_and_groups_of_subcommands(line: str, named: list[str], tables: Tables) -> None:
    """Each of these keys says when a word has to be mentioned."""
    assert needs(judged(line, tables)[0]) == named
