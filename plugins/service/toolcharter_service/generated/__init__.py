"""Tools that agents write: `codegen` has a model write code, `register` makes a tool of it once a person has agreed."""

from typing import TYPE_CHECKING, Any

from toolcharter import ToolSpec, hookimpl, lazy

if TYPE_CHECKING:
    from toolcharter_service.generated import codegen, register
else:
    codegen = lazy(
        "toolcharter_service.generated.codegen"
    )  # the registry needs the rules of this package, and they its records
    register = lazy("toolcharter_service.generated.register")  # as above


@hookimpl
def register_tools() -> list[ToolSpec[Any]]:
    """The two tools."""
    return [codegen.SPEC, register.SPEC]
