"""Tables of the options and operands of csvkit and sqlite-utils, for the shell parser.

With them, `bash:` rules can cover the ordinary use of these programs, and no more. The plugin has no tool and no check.
"""

from pathlib import Path

from toolcharter import ExtensionPolicy, ExtensionSpec, hookimpl


class DataProgramsPolicy(ExtensionPolicy):
    """No settings."""


def build(
    workspace: Path,  # noqa: ARG001 - every constructor takes both
    policy: DataProgramsPolicy,  # noqa: ARG001 - as above
) -> object:
    """Return an object without hooks: `register_programs` belongs to the module."""
    return object()


@hookimpl
def register_extensions() -> list[ExtensionSpec[DataProgramsPolicy]]:
    """Offer the name that a profile lists."""
    return [ExtensionSpec("data_programs", DataProgramsPolicy, build)]


@hookimpl
def register_programs() -> list[Path]:
    """Offer one table for each program."""
    return sorted((Path(__file__).parent / "tables").glob("*.toml"))
