"""What runners of tests are given: files, modules, plugins, filters."""

import re
from typing import Final

_JS_CODE: Final = re.compile(r"\.[cm]?[jt]sx?$")
_JS_TEST: Final = re.compile(r"(?:^|[^a-z])(?:tests?|specs?|__tests__)(?![a-z])", re.IGNORECASE)
_LINE_SUFFIX: Final = re.compile(r"(?:\[[0-9:,]+\]|(?::[0-9]+)+)$")
_CODE_SUFFIX: Final = re.compile(r"\.(?:rb|exs?|php|dart)$")
_NAMED_TEST: Final = re.compile(
    r"(?:(?:^|[_/.-])(?:test|spec)[_.-][^/]*|[^/]*[_.-](?:test|spec)|[^/]*[a-z0-9]Test|Test[A-Z][^/]*)$"
)
_WARNING_ACTIONS: Final = frozenset(
    {"default", "always", "ignore", "module", "once", "error", "all", "d", "a", "i", "m", "o", "e"}
)
_CATEGORY_INDEX: Final = 2
_UNITTEST_NAME: Final = re.compile(r"(?:^|[./*_])tests?(?![a-z])|_tests?(?:\.|$)")


def js_tests(text: str) -> str | None:
    """Operands of `node --test` and `bun test`: files that are called as tests are, and folders. Of any other file they run all.

    None for a test that lies in the workspace by its letters.

    Source: Node.js 24, "Running tests from the command line"; Bun 1.4.5, `bun test --help`.
    """
    if text.startswith(("/", "~")) or ".." in text.split("/"):
        return "may lie outside the workspace"
    if _JS_CODE.search(text) and not _JS_TEST.search(text):
        return "may be a program that is no test"
    return None


def named_tests(text: str) -> str | None:
    """Operands of RSpec, PHPUnit, `mix test` and `rails test`: folders, and files that are called as tests are, up to a line's number.

    None for a test that lies in the workspace by its letters.

    Source: RSpec 3.12, rspec(1); PHPUnit 9.6, `phpunit --help`; Mix 1.19, `mix help test`: of any other file they run all.
    """
    path = _LINE_SUFFIX.sub("", text)
    if path.startswith(("/", "~")) or ".." in path.split("/"):
        return "may lie outside the workspace"
    code = _CODE_SUFFIX.search(path)
    if code and not _NAMED_TEST.search(path[: code.start()]):
        return "may be a program that is no test"
    return None


def pytest_plugin(text: str) -> str | None:
    """Values of pytest's `-p`: harmless if they keep a plugin out; any other is a module that is imported.

    None if it is `no:NAME`.

    Source: pytest 9.2, `_pytest.config.PytestPluginManager.consider_pluginarg`.
    """
    return None if text.strip().startswith("no:") else "is a module that is imported"


def python_warning(text: str) -> str | None:
    """Filters of Python's `-W`: harmless unless the category is one that has to be imported.

    None for `action:message:category:module:line` with a category of Python's own.

    Source: warnings of CPython 3.11, `_getcategory`: a category with a dot is a module and a class.
    """
    parts = text.split(":")
    if parts[0].strip() not in _WARNING_ACTIONS:
        return "holds an action that is not known"
    # pytest and Python divide a text of too many parts in ways of their own, or refuse it.
    categories = parts[_CATEGORY_INDEX:]
    return "imports a module" if any("." in part for part in categories) else None


def unittest_name(text: str) -> str | None:
    """Names that `python -m unittest` imports: modules, classes and files that are called as tests are, and `discover`.

    None for a test that lies in the workspace by its letters.

    Source: Python 3.14, `python -m unittest --help`.
    """
    if text.startswith(("/", "~")) or ".." in text.split("/"):
        return "may lie outside the workspace"
    return None if text == "discover" or _UNITTEST_NAME.search(text) else "may be a module that is no test"
