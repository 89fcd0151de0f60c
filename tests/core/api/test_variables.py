"""Which variables a profile may hand to programs whose command lines were judged without them."""

import pytest
from tests.rows import each_row

from toolcharter.api.policy import check_variables


@each_row(
    ("variables", "fault"),
    [
        pytest.param(("HTTP_PROXY", "TZ"), None, id="names"),
        pytest.param({"TZ": "UTC"}, None, id="names with values"),
        pytest.param((), None, id="none"),
        pytest.param(("A B",), "'A B' is no name of a variable", id="no name"),
        pytest.param({"TZ": "a\0b"}, "a value holds NUL", id="NUL"),
        *(
            pytest.param((name,), f"{name!r} would change the meaning of a line after it was checked", id=name)
            for name in (
                "PATH",
                "BASH_ENV",
                "LD_PRELOAD",
                "GIT_DIR",
                "PYTHONPATH",
                "NODE_OPTIONS",
                "GIT_PAGER",
                "EDITOR",
            )
        ),
    ],
)
def test_variables_that_change_what_a_line_means_are_refused(variables, fault) -> None:
    """The line was judged without them; all others are the profile's choice."""
    if fault is None:
        check_variables(variables)
        return
    with pytest.raises(ValueError, match="^" + fault + "$"):
        check_variables(variables)
