"""What only tests do at the end of a call: observers are notified, and a tool is held to its own spec."""

import pytest
from tests.core.gate.conftest import spec_with_runtime

from toolcharter.gate.observe import ContractBroken


def test_a_reason_outside_the_closed_list_is_an_error_under_test(make_toolbox, events) -> None:
    """A strict toolbox raises, after the events are written."""

    def odd(rt):
        def tool():
            return rt.start("odd").deny("made_up")

        return tool

    toolbox = make_toolbox(spec_with_runtime(odd, reasons=("name_not_allowed",)), strict=True)

    with pytest.raises(ContractBroken, match=r"^'odd' gave the reason 'made_up', which its spec does not declare$"):
        toolbox.call("odd", {})

    assert events[-1]["event"] == "hook.tool.after"
