"""Find tools in skills: folders with a manifest that describes one tool or several."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError
from yaml import AliasEvent, YAMLError
from yaml import SafeLoader as YamlLoader

from toolcharter import require_finite
from toolcharter_cli_tools.bundles import Bundle, UnusableTool
from toolcharter_cli_tools.definitions import Definition
from toolcharter_cli_tools.policy import CliToolsPolicy, Parameter
from toolcharter_cli_tools.readme import clean_text, read_readme, summarize
from toolcharter_cli_tools.templates import SKILL_DIR, Word, parse_line, placeholder_names

MANIFEST_NAMES = ("skill.yaml", "skill.yml", "skill.json", "SKILL.md", "skill.md")
_MAX_MANIFEST_CHARS = 65_536
_PARAMETER_KEYS = frozenset({"type", "required", "default", "description", "enum"})


class _Loader(YamlLoader):
    """Refuses aliases, by which a short text can expand to a huge one."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(AliasEvent):
            raise UnusableTool("bad_manifest", "the manifest has an alias")
        return super().compose_node(parent, index)


def iter_definitions(name: str, bundle: Bundle, policy: CliToolsPolicy) -> Iterator[Definition | UnusableTool]:
    """Yield the tools of the skill in the folder *name*, or the reason for each tool that cannot be used.

    Raises:
        UnusableTool: The skill has no manifest, or the manifest cannot be read.
    """
    manifest, text = _read_manifest(bundle)
    listed = manifest.get("tools", [manifest] if "cmd" in manifest else [])
    if not isinstance(listed, list):
        raise UnusableTool("bad_manifest", "`tools` is not a list")
    readme = text or read_readme(bundle, policy.max_readme_chars)
    for each in listed:
        try:
            yield _build_definition(each, name, readme, policy)
        except UnusableTool as error:
            yield error


def _read_manifest(bundle: Bundle) -> tuple[Mapping[str, Any], str]:
    """The parsed manifest, and the Markdown text after it."""
    found = next((name for name in MANIFEST_NAMES if name in bundle.files), None)
    if found is None:
        raise UnusableTool("no_manifest", f"the folder has none of {', '.join(MANIFEST_NAMES)}")
    source = bundle.files[found].data.decode(errors="replace")
    text = ""
    if found.lower().endswith(".md"):
        source, text = _split_front_matter(source)
    if len(source) > _MAX_MANIFEST_CHARS:
        raise UnusableTool("bad_manifest", f"the manifest is longer than {_MAX_MANIFEST_CHARS} characters")
    try:
        manifest = _load_yaml(source)
    except (YAMLError, RecursionError, ValueError) as error:
        raise UnusableTool("bad_manifest", f"the manifest cannot be read: {type(error).__name__}") from error
    if not isinstance(manifest, dict):
        raise UnusableTool("bad_manifest", "the manifest is not a mapping")
    return manifest, text


def _load_yaml(source: str) -> Any:
    loader = _Loader(source)
    try:
        found = loader.get_single_data()
        require_finite(found)
    finally:
        loader.dispose()
    return found


def _split_front_matter(source: str) -> tuple[str, str]:
    head, *rest = source.removeprefix("\ufeff").replace("\r\n", "\n").split("\n---\n", 1)
    if not head.startswith("---\n") or not rest:
        raise UnusableTool("bad_manifest", "the file does not begin with a block between lines of `---`")
    return head.removeprefix("---\n"), clean_text(rest[0].encode(), _MAX_MANIFEST_CHARS)


def _build_definition(written: Any, folder: str, readme: str, policy: CliToolsPolicy) -> Definition:
    if not isinstance(written, dict):
        raise UnusableTool("bad_manifest", "a tool is not a mapping")
    name, line = written.get("name", folder), written.get("cmd")
    described, timeout = written.get("description", ""), written.get("timeout_ms", policy.timeout_s * 1000)
    if not (isinstance(name, str) and isinstance(line, str) and isinstance(described, str)):
        raise UnusableTool("bad_manifest", "name, cmd and description must be texts")
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or timeout <= 0:
        raise UnusableTool("bad_manifest", "timeout_ms must be a number above 0")
    words = parse_line(line)
    parameters = {
        str(key): _parse_parameter(key, value) for key, value in _require_mapping(written.get("args", {})).items()
    }
    _check_placeholders(words, parameters)
    return Definition(
        name,
        described.strip() or summarize(readme) or f"CLI tool: {name}",
        words,
        parameters,
        readme=readme[: policy.max_readme_chars],
        timeout_s=min(timeout / 1000, policy.timeout_s),
        max_output_bytes=policy.max_output_bytes,
    )


def _require_mapping(written: Any) -> Mapping[Any, Any]:
    if not isinstance(written, dict):
        raise UnusableTool("bad_manifest", "args is not a mapping")
    return written


def _parse_parameter(name: Any, written: Any) -> Parameter:
    """One argument of a tool; optional unless the manifest says `required`."""
    given = {"type": written} if isinstance(written, str) else _require_mapping(written or {})
    if not (isinstance(name, str) and name.isidentifier()) or given.keys() - _PARAMETER_KEYS:
        raise UnusableTool("bad_manifest", f"the argument {name!r} has an invalid name or an unknown key")
    try:
        return Parameter.from_profile({"required": False, **given})
    except ValidationError as error:
        raise UnusableTool("bad_manifest", f"the argument {name!r}: {error.errors()[0]['msg']}") from error


def _check_placeholders(words: tuple[Word, ...], parameters: Mapping[str, Parameter]) -> None:
    if not words or not words[0]:
        raise UnusableTool("bad_manifest", "cmd is empty")
    unknown = [name for name in placeholder_names(words) if name not in parameters and name != SKILL_DIR]
    if unknown:
        raise UnusableTool(
            "unknown_placeholder", f"cmd has the placeholder {unknown[0]!r}, which args does not describe"
        )
    first = words[0]
    if any(part.is_placeholder and part.text != SKILL_DIR for part in first):
        raise UnusableTool("program_is_placeholder", "the program is a placeholder; a call must not choose it")
    if not first[0].is_placeholder and "/" in first[0].text and not first[0].text.startswith("/"):
        raise UnusableTool("program_is_relative", "write $SKILL_DIR before the path of a program of the skill")
