"""What runners of tests are given; each harmless, or to be mentioned."""

import pytest
from tests.rows import each_row

from toolcharter.guards.shell.languages import find_objection
from toolcharter.guards.shell.languages.testing import pytest_plugin, python_warning

HARMLESS = {
    "js_tests": ["tests", "src", "src/a.test.ts", "test/a.js", "a-spec.mjs", "__tests__/a.js"],
    "named_tests": [
        "spec",
        "spec/models/user_spec.rb:42",
        "spec/a_spec.rb[1:2,1:3]",
        "test/a_test.exs:12:13",
        "tests/UserTest.php",
        "tests/Unit",
        "test/test_a.rb",
        "TestA.php",
        "test/a_test.dart",
    ],
    "unittest_name": [
        "discover",
        "tests",
        "tests.test_a.TestA",
        "test_a",
        "pkg.a_test",
        "test*.py",
        "*_test.py",
        "tests/test_a.py",
    ],
}
NAMED = {
    "js_tests": ["evil.js", "./evil.ts", "../a.test.js", "/a.test.js", "latest.js", "~/a.test.js"],
    "named_tests": [
        "evil.rb",
        "lib/a.rb:3",
        "../a_spec.rb",
        "/a_spec.rb",
        "~/a_spec.rb",
        "latest.exs",
        "spec/a.rb",
        "a.php",
    ],
    "unittest_name": ["evil", "*.py", "../test_a.py", "/test_a.py", "latest"],
}


@each_row("name", HARMLESS)
def test_ordinary_value_needs_no_name(name: str) -> None:
    """It stays with the project, the host that one is logged in to, and what is there to be read."""
    assert [text for text in HARMLESS[name] if find_objection(name, text) is not None] == []


@each_row("name", NAMED)
def test_value_that_reaches_further_has_to_be_named(name: str) -> None:
    """It starts something, changes data, prints what is secret, or takes what it says from elsewhere."""
    assert [text for text in NAMED[name] if find_objection(name, text) is None] == []


@each_row("text", ["error", "ignore::DeprecationWarning", "default:a b.c:", "once:::a:1", "i"])
def test_filter_of_python_s_own_warnings_is_harmless(text: str) -> None:
    """A category without a dot is a name that Python knows."""
    assert python_warning(text) is None


@each_row(
    ("text", "why"),
    [
        ("error::evil.Cls", "imports a module"),
        ("ignore:a: evil.Cls :b:1", "imports a module"),
        ("error:::a.b", "imports a module"),
        ("x", "holds an action that is not known"),
        ("", "holds an action that is not known"),
        ("=error", "holds an action that is not known"),
    ],
)
def test_filter_that_imports_has_to_be_named(text: str, why: str) -> None:
    """A category with a dot is imported; a module with one is not told from it."""
    assert python_warning(text) == why


@pytest.mark.parametrize("text", ["no:cacheprovider", "no:a.b", " no:x"])
def test_plugin_that_is_kept_out_is_harmless(text: str) -> None:
    """Nothing is imported."""
    assert pytest_plugin(text) is None


@each_row("text", ["evil", "", "xno:evil", "=no:x", "No:x"])
def test_plugin_that_is_imported_has_to_be_named(text: str) -> None:
    """Any other value is a module."""
    assert pytest_plugin(text) == "is a module that is imported"
