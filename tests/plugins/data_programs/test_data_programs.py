"""The tables of csvkit and sqlite-utils: what a rule with a star covers, what it has to mention, and the programs' own help."""

import re
from pathlib import Path
from typing import Any

import pytest
from tests.rows import each_row

from toolcharter.gate.commands import analyse_commands
from toolcharter.guards.shell.programs.table import Table
from toolcharter.guards.shell.programs.tables import Tables
from toolcharter.loader.load import load_plugins
from toolcharter.policy.evaluate import Policy
from toolcharter.policy.rule_input import RuleInput, ToolFacts
from toolcharter.profile.rules import parse_rule
from toolcharter_data_programs import register_programs

BASH = ToolFacts("bash", "bash", (), frozenset(), frozenset({"proc:exec"}))
FILES = register_programs()
PROGRAMS = [file.stem for file in FILES]
BESIDE = ["cat", "head", "sort", "echo"]
STARS = [f"bash:{name}{end}" for name in (*PROGRAMS, *BESIDE) for end in ("", " *")]


@pytest.fixture(scope="module")
def tables() -> Tables:
    """Those of the core and of the plugin, as a profile loads them."""
    return load_plugins({}, {"data_programs": "p.yaml:3:3"}).program_tables()


def decided(line: str, tables: Tables | None, rules: list[str]) -> str:
    """The reason for which a line is refused; nothing if *rules* cover it."""
    policy = Policy((), [parse_rule(rule, "p.yaml:1:1") for rule in rules]).for_tool(BASH)
    known = analyse_commands((line,), "/srv/ws", tables)
    decision = policy.decide(RuleInput(None, {}, known.commands, known.refusal, known.needs, known.unsupported))
    return "" if decision.outcome == "allow" else str(decision.reason)


@each_row(
    "line",
    [
        "csvcut -n orders.csv",
        "csvcut -c 1,3-5,name orders.csv | head -n 5",
        "csvcut -C2 -d';' data/orders.csv | csvlook",
        "csvlook --max-rows 10 --max-columns=5 orders.csv",
        "cat orders.csv | csvlook -I",
        "csvgrep -c status -m open orders.csv | csvcut -c id | sort",
        "csvgrep -c name -r '^A.*z$' -i orders.csv",
        "csvgrep -c id -f wanted.txt orders.csv",
        "csvstat --mean -c price orders.csv",
        "csvstat --csv --freq --freq-count 3 orders.csv",
        "csvsort -c price -r orders.csv | head -20",
        "csvjoin -c id --left orders.csv customers.csv",
        "csvstack -g 2023,2024 -n year a.csv b.csv",
        "csvjson -i 2 -k id orders.csv",
        "csvjson --lat lat --lon lon --crs EPSG:4269 places.csv",
        "csvformat -T orders.csv",
        "csvformat -D '|' -U 1 orders.csv >orders.psv",
        "in2csv report.xlsx",
        "in2csv --sheet 'Q1 2024' -n report.xlsx",
        "in2csv -f fixed -s schema.csv table.txt | csvstat",
        "in2csv -f ndjson -e utf-8 -K 2 log.json",
        "csvsql -y 0 --tables orders orders.csv",
        "csvsql --no-constraints orders.csv customers.csv",
        "csvcut --help",
        "sqlite-utils tables shop.db --counts --table",
        "sqlite-utils views shop.db --schema",
        "sqlite-utils schema shop.db orders",
        "sqlite-utils rows shop.db orders --limit 5 --csv -c id -c price",
        "sqlite-utils rows shop.db orders --limit 5 --csv | csvlook",
        "sqlite-utils indexes shop.db --aux --fmt github",
        "sqlite-utils triggers shop.db",
        "sqlite-utils dump shop.db | head -n 40",
        "sqlite-utils --version",
    ],
)
def test_a_line_of_every_day_is_covered(line: str, tables: Tables) -> None:
    """Rules with a star for the programs are enough."""
    assert decided(line, tables, [*STARS, "bash:csvformat * >orders.psv"]) == ""


def test_without_the_plugin_options_have_to_be_named(tables: Tables) -> None:
    """The core has no table of these programs, so that it cannot tell what an option does."""
    assert [decided("csvcut -c 1 a.csv", known, STARS) for known in (tables, None)] == ["", "not_in_allow"]


@each_row(
    "line",
    [
        pytest.param("csvcut -c 1 ../orders.csv", id="a file outside"),
        pytest.param("csvlook /etc/passwd", id="a file of the system"),
        pytest.param("csvgrep -c1 -f /etc/shadow a.csv", id="a file of patterns outside"),
        pytest.param("csvgrep -c1 --file=../secret a.csv", id="attached"),
        pytest.param("csvgrep -ic1 -f../secret a.csv", id="attached to a short option"),
        pytest.param("csvjoin -c id a.csv ~/b.csv", id="the second file"),
        pytest.param("csvstack a.csv /proc/self/environ", id="the environment"),
        pytest.param("csvcut --null-value x ../secret", id="behind an option that takes many"),
        pytest.param("in2csv -f fixed -s ../schema.csv a.txt", id="a schema outside"),
        pytest.param("in2csv --write-sheets - report.xlsx", id="writes files"),
        pytest.param("in2csv --use-sheet-names --write-sheets 1 report.xlsx", id="names them by what it reads"),
        pytest.param("in2csv --write 1 report.xlsx", id="cut short"),
        pytest.param("csvstat -L ../../tmp/evil a.csv", id="a locale is a file"),
        pytest.param("csvsort --locale=x a.csv", id="a locale in its long form"),
        pytest.param("csvsql --db sqlite:////etc/x.db --insert a.csv", id="a database"),
        pytest.param("csvsql --query \"attach '/tmp/x' as y\" a.csv", id="SQL"),
        pytest.param("csvsql --query steal.sql a.csv", id="a file of SQL"),
        pytest.param("csvsql --before-insert 'drop table a' --db x a.csv", id="more SQL"),
        pytest.param("csvsql -i os a.csv", id="a module"),
        pytest.param("csvsql --engine-option a b a.csv", id="an option that is left out"),
        pytest.param("csvpy a.csv", id="Python"),
        pytest.param("csvclean a.csv", id="writes two files"),
        pytest.param("cat a.py | csvpy a.csv", id="Python from a pipe"),
        pytest.param("sql2csv --db postgres://h/d --query 'select 1'", id="any database"),
        pytest.param("sqlite-utils shop.db 'delete from orders'", id="a query without its name"),
        pytest.param("sqlite-utils query shop.db 'delete from orders'", id="a query"),
        pytest.param("sqlite-utils memory a.csv 'select 1'", id="a query in memory"),
        pytest.param("sqlite-utils rows shop.db t --where '1 in (select 2)'", id="a condition is SQL"),
        pytest.param("sqlite-utils rows shop.db t -o 'load_extension(1)'", id="an order is SQL"),
        pytest.param("sqlite-utils rows shop.db t --load-extension ./evil.so", id="an extension"),
        pytest.param("sqlite-utils tables --load-extension=evil shop.db", id="attached extension"),
        pytest.param("sqlite-utils tables ../shop.db", id="a database outside"),
        pytest.param("sqlite-utils insert shop.db t a.csv --csv", id="writes"),
        pytest.param("sqlite-utils convert shop.db t c 'import os'", id="Python in a column"),
        pytest.param("sqlite-utils install evil", id="installs"),
        pytest.param("sqlite-utils drop-table shop.db t", id="removes"),
        pytest.param("sqlite-utils analyze-tables shop.db --save", id="writes what it found"),
    ],
)
def test_what_does_more_is_not_covered_by_a_star(line: str, tables: Tables) -> None:
    """It leaves the workspace, writes, runs SQL or code: a rule has to mention it."""
    assert decided(line, tables, STARS) == "not_in_allow"


@each_row(
    ("line", "rule"),
    [
        ("csvclean a.csv", "bash:csvclean a.csv"),
        ("csvsql --query 'select 1' a.csv", "bash:csvsql --query 'select 1' *"),
        ("in2csv --write-sheets - report.xlsx", "bash:in2csv --write-sheets - *"),
        ("sqlite-utils rows shop.db t --where 'id = 1'", "bash:sqlite-utils rows * --where 'id = 1'"),
        ("sqlite-utils vacuum shop.db", "bash:sqlite-utils vacuum shop.db"),
    ],
)
def test_a_rule_may_name_it(line: str, rule: str, tables: Tables) -> None:
    """What a profile says literally is allowed."""
    assert decided(line, tables, [rule]) == ""


def test_each_file_is_named_after_its_program(tables: Tables) -> None:
    """So that a reader finds it; all load beside those of the core."""
    found = {file.stem: tables.find(file.stem) for file in FILES}

    assert len(FILES) == 15
    assert {name: entry and Path(entry.file).stem for name, entry in found.items()} == {name: name for name in PROGRAMS}


def options_of(help_text: str) -> dict[str, bool]:
    """The options that a help lists, and whether they take a value."""
    found: dict[str, bool] = {}
    for line in re.findall(r"^  (-.*)$", help_text, re.MULTILINE):
        spelled = re.split(r"  +", re.sub(r"\{[^}]*\}", "X", line))[0]
        names = re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", spelled)
        found |= dict.fromkeys(names, bool(re.search(r" [A-Z<]", spelled)))
    return found


def known_to(table: Table) -> dict[str, bool]:
    return {name: bool(takes.roles) for name, takes in table.options.items()}


HELP = sorted((Path(__file__).parent / "help").glob("*.txt"))


@each_row("file", HELP, ids=lambda file: file.stem)
def test_the_options_are_those_of_the_help(file: Path, tables: Tables) -> None:
    """None that takes a value is read as one that takes none, or the other way; and none is invented.

    The files hold what `--help` prints in csvkit 2.2.0 and sqlite-utils 4.2.1.
    """
    program, *subcommands = file.stem.split()
    entry = tables.find(program)
    assert entry is not None
    table: Any = entry.table
    for name in subcommands:
        table = table.subcommands[name]
    listed, known = options_of(file.read_text()), known_to(table)

    assert {name: valued for name, valued in listed.items() if name in known} == {
        name: valued for name, valued in known.items() if name in listed
    }
    invented = known.keys() - listed.keys()
    assert invented <= ({"--fts4", "--fts5"} if file.stem == "sqlite-utils views" else set())
    assert len(listed) > 1


def test_each_program_has_its_help() -> None:
    """A table without one would be compared with nothing."""
    assert {file.stem.split()[0] for file in HELP} == {*PROGRAMS}
