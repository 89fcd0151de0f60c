"""Pages are read as GitHub shows them: blocks, links, headings, tables, generated parts."""

import pytest
from tests.rows import each_row

from pages import Block, anchors, blocks, links, quoted, regenerate, rows

PAGE = """\
# A page

Go [there](docs/there.md#a-part).

```yaml broken
# profiles/one.yaml
profile: one
```

```python illustration
[no](link.md)
```

| name | what |
|---|---|
| `one`, `two` | a \\| b |

| other |
|---|
| `three` |
"""


def test_blocks_know_language_words_and_line() -> None:
    """What stands behind the language says how a block is tried; its line leads back to the page."""
    found = list(blocks(PAGE))

    assert found == [
        Block("yaml", ("broken",), "# profiles/one.yaml\nprofile: one\n", 6),
        Block("python", ("illustration",), "[no](link.md)\n", 11),
    ]


@each_row(
    ("first_line", "file"),
    [
        pytest.param("# profiles/one.yaml", "profiles/one.yaml", id="a path"),
        pytest.param("# pytest.ini", "pytest.ini", id="a name with a suffix"),
        pytest.param("# a comment", None, id="words"),
        pytest.param("# done.", None, id="a sentence"),
        pytest.param("profile: one", None, id="no comment"),
    ],
)
def test_a_first_line_with_a_path_names_the_file(first_line: str, file: str | None) -> None:
    """Readers see the name, and so does who writes the file."""
    assert Block("yaml", (), f"{first_line}\nx\n", 1).file == file


def test_links_in_blocks_do_not_count() -> None:
    """Code may hold what looks like a link."""
    assert list(links(PAGE)) == ["docs/there.md#a-part"]


def test_headings_are_anchors() -> None:
    """As GitHub makes them: lower case, spaces to '-', signs dropped."""
    assert anchors("# A page\n\n## `extends`, and more!\n") == {"a-page", "extends-and-more"}


def test_rows_are_those_of_the_tables_with_that_heading() -> None:
    """A border behind a backslash does not end a cell."""
    found = rows(PAGE, "name")

    assert found == [["`one`, `two`", "a \\| b"]]
    assert quoted(found[0][0]) == ["one", "two"]


def test_generated_parts_are_replaced_and_the_rest_is_kept() -> None:
    """Only what stands between the markers changes; making it twice changes nothing more."""
    page = "before\n<!-- table: one -->\nold\n<!-- end -->\nafter\n"

    once = regenerate(page, str.upper)

    assert once == "before\n<!-- table: one -->\nONE\n<!-- end -->\nafter\n"
    assert regenerate(once, str.upper) == once
