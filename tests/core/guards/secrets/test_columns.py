"""Secrets in columns: tables of Markdown and of database clients, and the rows that SQL inserts."""

import hashlib

import pytest
from tests.rows import each_row

from toolcharter.guards.secrets import MASK, scrub_text
from toolcharter.guards.secrets.stream import Stream

HEX = hashlib.sha256(b"columns").hexdigest()
MIXED = "".join(letter.upper() if index % 3 else letter for index, letter in enumerate(HEX))[:20] + "!"


def streamed(text: str, length: int) -> str:
    """*text* in pieces of *length* bytes through a stream."""
    stream, data = Stream(), text.encode()
    pieces = [stream.feed(data[at : at + length]) for at in range(0, len(data), length)]
    return (b"".join(pieces) + stream.finish()).decode()


@each_row(
    "text",
    [
        pytest.param("| user | password |\n|---|---|\n| ann | {} |\n| bob | {} |\n", id="markdown"),
        pytest.param(
            "| host | password | note |\n|:-----|:---:|---|\n| h1 | `{}` | x |\n| h2 | - | y |\nDone.\n", id="middle"
        ),
        pytest.param("| **Service** | **API key** |\n| --- | --- |\n| mail | {} |\n", id="bold"),
        pytest.param(
            " id | name | api_token \n----+------+-----------\n  1 | ann  | {}\n  2 | bob  | {}\n(2 rows)\n", id="psql"
        ),
        pytest.param(
            "+----+----------+\n| id | password |\n+----+----------+\n|  1 | {} |\n+----+----------+\n", id="mysql"
        ),
        pytest.param("INSERT INTO users (id, email, password) VALUES (1, 'a@b.c', '{}');\n", id="insert"),
        pytest.param("INSERT INTO `users` (`password`, `id`) VALUES ('{}', 1),('{}', 2);\n", id="rows"),
        pytest.param(
            "INSERT INTO users (name, api_key)\nVALUES\n  ('ann', '{}'),\n  ('bob', '{}');\nSELECT 1;\n", id="lines"
        ),
        pytest.param("insert into public.\"users\" (\"name\", \"secret\") values ('o''neil', '{}');\n", id="quotes"),
        pytest.param("INSERT INTO users (created, token, password) VALUES (now(), NULL, E'{}');\n", id="calls"),
        pytest.param("INSERT INTO users (password) VALUES ('{}', 'more than there are names');\n", id="more-values"),
        pytest.param("REPLACE INTO cfg (k, password) VALUES ('smtp\\'s', '{}');\n", id="replace"),
    ],
)
def test_value_below_the_name_of_its_column_is_masked(text: str) -> None:
    """Wherever the column stands, and wherever the pieces end that the text arrives in."""
    filled = text.replace("{}", MIXED)

    assert scrub_text(filled) == (text.replace("{}", MASK), text.count("{}"))
    assert [streamed(filled, length) for length in (1, 7, 50)] == [text.replace("{}", MASK)] * 3


@each_row(
    "text",
    [
        "| Option | Password |\n|---|---|\n| foo | required |\n| bar | string |\n",
        "| Shortcut | Access key |\n|---|---|\n| New | Alt+Shift+1 |\n",
        "| Secret | Description |\n|---|---|\n| DB_PASSWORD | Its password |\n| API_TOKEN_2 | Token of the API |\n",
        "| Auth | Password |\n|---|---|\n| basic | `$PASSWORD` |\n",
        " token | count \n-------+-------\n the   | 1234\n(1 row)\n",
        "password\n--------\n\nThe password is read | from the terminal2!\n",
        "INSERT INTO users (id, password) VALUES (?, ?), ($1, $2), (:id, :password), (%s, %s);",
        "INSERT INTO users (id, password) VALUES (1, ''), (2, NULL), (3, 'changeme'), (4, '{password}');",
        "INSERT INTO tokens (token, kind) VALUES ('position', 'noun');",
        "INSERT INTO users (id, password_hash) SELECT id, hash FROM old;",
        "Insert into the form (with password) values of your choice.",
        "INSERT INTO users (id, password) VALUES (1",
    ],
)
def test_columns_without_a_secret_stay(text: str) -> None:
    """Words of a manual, keys of a keyboard, places of a statement."""
    assert scrub_text(text) == (text, 0)
    assert streamed(text, 7) == text


def test_statement_within_a_value_is_part_of_that_value() -> None:
    """It is looked at once, however many there are."""
    inner = "INSERT INTO t (password) VALUES (''x'')"
    text = f"INSERT INTO log (password, line) VALUES ('{MIXED}', '{inner * 50}');"

    assert scrub_text(text) == (text.replace(MIXED, MASK), 1)
