"""Tools that agents write: `codegen` lets a model write code; `register` makes it a tool once an approver agrees."""

from typing import TYPE_CHECKING, Any

from toolcharter import ToolSpec, hookimpl, lazy

if TYPE_CHECKING:
    from toolcharter_service.generated import codegen, register
else:
    codegen = lazy(
        "toolcharter_service.generated.codegen"
    )  # the registry imports this package's rules, and they import its records
    register = lazy("toolcharter_service.generated.register")  # as above


@hookimpl
def register_tools() -> list[ToolSpec[Any]]:
    """Offer the tools `codegen` and `register`."""
    return [codegen.SPEC, register.SPEC]
