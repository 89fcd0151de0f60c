"""Adds and removes entries of a YAML block list, and leaves every other byte as the user wrote it."""

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from toolcharter._lazy import lazy
from toolcharter.guards.state_folder import UnsafeState

if TYPE_CHECKING:
    import yaml
else:
    yaml = lazy("yaml")


def is_blank(text: str) -> bool:
    """Whether *text* has only comments."""
    return all(line.strip() in {"", "---"} or line.lstrip().startswith("#") for line in text.splitlines())


def append_entry(text: str, entry: Mapping[str, str]) -> str:
    """Append *entry* to *text*, with a line for each key. *text* must not be empty, but may be only a comment.

    Raises:
        UnsafeState: The list is not written as a block.
    """
    indent = " " * (0 if is_blank(text) else next(_entry_spans(text))[0])
    lines = [f"{key}: {_quote_scalar(value)}\n" for key, value in entry.items()]
    end = "" if text.endswith("\n") else "\n"
    return text + end + indent + "- " + (indent + "  ").join(lines)


def remove_entries(text: str, gone: Collection[int]) -> str:
    """Return *text* without the entries whose indices are in *gone*.

    Raises:
        UnsafeState: The list is not written as a block.
    """
    kept, position = "", 0
    for index, (_, start, end) in enumerate(_entry_spans(text) if gone else ()):
        if index in gone:
            kept, position = kept + text[position:start], end
    return kept + text[position:]


def _entry_spans(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield for each entry its indentation, the start of its first line and the end of its last line."""
    content = [token for token in yaml.scan(text, Loader=yaml.SafeLoader) if isinstance(token, _content_tokens(yaml))]
    if not isinstance(content[0], yaml.BlockEntryToken):
        raise UnsafeState("is not written as a block list", "Begin each entry on a line of its own, with '- '.")
    column = content[0].start_mark.column
    begin: Any = content[0]
    last: Any = begin
    for token in content[1:]:
        if isinstance(token, yaml.BlockEntryToken) and token.start_mark.column == column:
            yield column, _line_start(text, begin), _line_end(text, last)
            begin = token
        last = token
    yield column, _line_start(text, begin), _line_end(text, last)


def _content_tokens(yaml: Any) -> tuple[type, ...]:
    """Return the types of tokens that have text in the file, unlike the end of a block."""
    return (
        yaml.BlockEntryToken,
        yaml.KeyToken,
        yaml.ValueToken,
        yaml.ScalarToken,
        yaml.FlowSequenceStartToken,
        yaml.FlowSequenceEndToken,
        yaml.FlowMappingStartToken,
        yaml.FlowMappingEndToken,
        yaml.AnchorToken,
        yaml.AliasToken,
    )


def _line_start(text: str, token: Any) -> int:
    return text.rfind("\n", 0, token.start_mark.index) + 1


def _line_end(text: str, token: Any) -> int:
    index: int = token.end_mark.index
    if text[:index].endswith("\n"):  # A block scalar ends with its last line.
        return index
    end = text.find("\n", index)
    return len(text) if end < 0 else end + 1


def _quote_scalar(value: str) -> str:
    """Write *value* as YAML in one line, in double quotes, with escapes where they are needed."""

    class Quoting(yaml.SafeDumper):
        def represent_str(self, data: str) -> Any:
            return self.represent_scalar("tag:yaml.org,2002:str", data, style='"')

        @override
        def ignore_aliases(self, data: Any) -> bool:
            return True

    Quoting.add_representer(str, Quoting.represent_str)
    text: str = yaml.dump(
        value, Dumper=Quoting, default_flow_style=True, width=float("inf"), allow_unicode=True, sort_keys=False
    )
    return text.removesuffix("\n")
