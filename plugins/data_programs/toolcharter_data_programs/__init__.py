"""Tables of programs for tabular data: what the options and operands of csvkit and of sqlite-utils do.

They let `bash:` rules cover the ordinary purpose of these programs and no more. The plugin has no tool and no check.
"""

from pathlib import Path

from toolcharter import ExtensionPolicy, ExtensionSpec, hookimpl


class DataProgramsPolicy(ExtensionPolicy):
    """There is nothing to choose."""


def build(
    workspace: Path,  # noqa: ARG001 - every constructor takes both
    policy: DataProgramsPolicy,  # noqa: ARG001 - as above
) -> object:
    """An object without hooks: the tables are the module's."""
    return object()


@hookimpl
def register_extensions() -> list[ExtensionSpec[DataProgramsPolicy]]:
    """Offer the name that a profile lists."""
    return [ExtensionSpec("data_programs", DataProgramsPolicy, build)]


@hookimpl
def register_programs() -> list[Path]:
    """One table for each program."""
    return sorted((Path(__file__).parent / "tables").glob("*.toml"))
