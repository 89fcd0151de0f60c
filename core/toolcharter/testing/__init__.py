"""Asserting in tests what a profile and its tools refuse: cases, assertions, toolboxes, reason coverage.

Names load on first use (PEP 562): pytest imports this package in every project beside toolcharter.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolcharter.testing.asserting import assert_decision as assert_decision
    from toolcharter.testing.asserting import assert_denied as assert_denied
    from toolcharter.testing.asserting import assert_error as assert_error
    from toolcharter.testing.asserting import assert_events as assert_events
    from toolcharter.testing.asserting import assert_ok as assert_ok
    from toolcharter.testing.cases import CaseResult as CaseResult
    from toolcharter.testing.cases import run_case as run_case
    from toolcharter.testing.cases import run_cases as run_cases
    from toolcharter.testing.coverage import ReasonCoverage as ReasonCoverage
    from toolcharter.testing.coverage import ReasonRow as ReasonRow
    from toolcharter.testing.toolboxes import toolbox_of as toolbox_of

_HOMES = {
    "toolcharter.testing.asserting": "assert_decision assert_denied assert_error assert_events assert_ok",
    "toolcharter.testing.cases": "CaseResult run_case run_cases",
    "toolcharter.testing.coverage": "ReasonCoverage ReasonRow",
    "toolcharter.testing.toolboxes": "toolbox_of",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_HOME_OF)  # noqa: PLE0605 - the same names as above; a test compares the two


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        message = f"module 'toolcharter.testing' has no attribute {name!r}"
        raise AttributeError(message)
    value = globals()[name] = getattr(import_module(_HOME_OF[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
