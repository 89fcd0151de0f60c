"""Tools that a profile declares: a program or a script, and its arguments."""

from functools import partial
from pathlib import Path

from toolcharter import ConfigurationError, Fault
from toolcharter_cli_tools.bundles import Bundle, Limits, UnusableTool, read_file
from toolcharter_cli_tools.definitions import STDIN, Definition
from toolcharter_cli_tools.policy import CliToolsPolicy, DeclaredTool, Parameter
from toolcharter_cli_tools.readme import clean_text, summarize
from toolcharter_cli_tools.templates import SKILL_DIR, Part, Word, parse_words, placeholder_names


def build_declared(name: str, written: DeclaredTool, policy: CliToolsPolicy, folder: Path | None) -> Definition:
    """Build the tool that a profile in *folder* declares.

    Raises:
        ConfigurationError: A file of the tool cannot be read or executed, or a word names an unknown parameter.
    """
    words = parse_words(written.args or ())
    parameters = _parameters(name, written, words)
    read, program = None, _make_word(Part(written.command))
    bundle = Bundle({})
    if "/" in written.command:
        path = _resolve_path(Path(written.command), folder, name, "command")
        read = partial(read_file, path, Limits(1, policy.max_bytes))
        bundle = _read_files(name, "command", path, policy.max_bytes)
        if not bundle.files[path.name].is_executable:
            raise _fault(name, "command", f"{str(path)!r} cannot be executed.", "Set the bit with chmod +x.")
        program = _make_word(Part(SKILL_DIR, is_placeholder=True), Part(f"/{path.name}"))
    readme = ""
    if written.readme is not None:
        path = _resolve_path(written.readme, folder, name, "readme")
        readme = clean_text(
            _read_files(name, "readme", path, policy.max_bytes).files[path.name].data, policy.max_readme_chars
        )
    return Definition(
        name,
        written.description or summarize(readme) or f"CLI tool: {name}",
        (program, *words),
        parameters,
        stdin=written.stdin or (STDIN if written.args is None else None),
        takes_args=written.args is None,
        allow_dash=written.allow_dash,
        readme=readme,
        read=read,
        hash=bundle.hash,
        capabilities=written.capabilities,
        safety=written.safety,
        timeout_s=written.timeout_s or policy.timeout_s,
        max_output_bytes=policy.max_output_bytes,
    )


def _make_word(*parts: Part) -> Word:
    return parts


def _parameters(name: str, written: DeclaredTool, words: tuple[Word, ...]) -> dict[str, Parameter]:
    """The written parameters, or else a text for each argument that the words and the input name."""
    named = [*placeholder_names(words), *([written.stdin] if written.stdin and written.args is not None else [])]
    if written.parameters is None:
        return {place: Parameter(description=f"The value of {place}.") for place in named}
    for place in named:
        if place not in written.parameters:
            what = f"parameters has no argument {place!r}."
            raise _fault(name, "args", what, "Add it to parameters, or correct the word.")
    return written.parameters


def _resolve_path(written: Path, folder: Path | None, name: str, key: str) -> Path:
    if not written.is_absolute() and folder is None:
        what = f"{str(written)!r} is relative, but the profile is not a file."
        raise _fault(name, key, what, "Write an absolute path.")
    return (folder or Path("/")) / written


def _read_files(name: str, key: str, path: Path, most_bytes: int) -> Bundle:
    try:
        return read_file(path, Limits(1, most_bytes))
    except (OSError, UnusableTool) as error:
        why = error.message if isinstance(error, UnusableTool) else error.strerror
        raise _fault(name, key, f"{str(path)!r} cannot be read: {why}.", "Correct the path, or the file.") from error


def _fault(name: str, key: str, what: str, fix: str) -> ConfigurationError:
    return ConfigurationError([Fault("", f"extensions.cli_tools.tools.{name}.{key}", what, fix)])
