"""SQL and the commands of its clients; each harmless, or to be mentioned."""

from tests.rows import each_row

from toolcharter.guards.shell.languages import find_objection
from toolcharter.guards.shell.languages.sql import sql

HARMLESS = {
    "database": ["app", "app_test"],
    "psql": ["select 1", r"\dt", r"\d+ users", r"\l", r"\dt public.*"],
    "sql": [
        "select * from users where name = 'drop table x'",
        "SELECT count(*) FROM t; select 2",
        "with a as (select 1) select * from a",
        "explain select updated_at from t -- delete",
        "pragma table_info(users)",
        "show tables;",
        "",
    ],
    "sqlite": [".tables", ".schema users", "select 1;", "select 'it''s'"],
}
NAMED = {
    "database": ["postgresql://h/d", "host=h dbname=d", "/tmp"],
    "psql": [r"\! touch x", r"\copy t to x", r"\o x", r"\i x", r"\dt | touch x", "drop table t", r"\dt `x`"],
    "sql": [
        "drop table t",
        "select 1; delete from t",
        "with a as (delete from t returning *) select * from a",
        "select * into x from t",
        "copy t to program 'touch x'",
        "select pg_read_file('/etc/passwd')",
        "select lo_import('/etc/passwd')",
        "select load_extension('x')",
        "select writefile('x', 'y')",
        "select E'a\\' ; drop table t",
        "select $$a$$",
        "select 'a",
        "select 1 /* open",
        "attach 'x' as y",
        "pragma writable_schema=1",
        "pragma journal_mode",
        "explain analyze delete from t",
        "set role x",
    ],
    "sqlite": [
        ".shell touch x",
        ".system x",
        ".output x",
        ".once |x",
        ".tables\n.shell x",
        "select 1\n.shell x",
        ".dump | x",
    ],
}


@each_row("name", HARMLESS)
def test_ordinary_value_needs_no_name(name: str) -> None:
    """It stays with the project, the host that one is logged in to, and what is there to be read."""
    assert [text for text in HARMLESS[name] if find_objection(name, text) is not None] == []


@each_row("name", NAMED)
def test_value_that_reaches_further_has_to_be_named(name: str) -> None:
    """It starts something, changes data, prints what is secret, or takes what it says from elsewhere."""
    assert [text for text in NAMED[name] if find_objection(name, text) is None] == []


def test_long_statement_is_read_in_linear_time() -> None:
    """Open texts and comments in great number are no work."""
    assert sql("select " + "'a' /* b */ " * 800) is None
    assert sql("select " + "'" * 9_999) is not None
    assert sql("select /*" + "*" * 9_000) is not None
