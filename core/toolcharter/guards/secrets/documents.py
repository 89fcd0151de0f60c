"""Keep a JSON or YAML document valid when secrets in it are masked.

The mask has brackets, so that it does not fit everywhere: `[REDACTED] and more` is no YAML, and nothing outside of quotes
is JSON. Only the outcome is looked at, and only where something was masked. Numbers beside a JSON key are quoted by
`text`, in any text; here is what needs the document as a whole.
"""

import re
from functools import cache
from importlib import import_module
from typing import Any

import orjson

_MASK = "[REDACTED]"
_JSON_START = ("{", "[", '"')
_YAML_START = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\r?\n|%[^\n]*\n)*(?:---(?=\s)|- |[\"']?[\w./-]+[\"']?:(?:[ \t\r\n]|$))")
# The mask where YAML would read its bracket: at the beginning of a value or key that goes on, behind a tag, between brackets.
_SUSPECT = re.compile(
    r"(?m)(?:^|[:?-])[ \t]+\[REDACTED\][ \t]*[^\s#]|^\[REDACTED\]|![\w!:,./-]*[ \t]+\[REDACTED\]|[{\[,][^\n]*\[REDACTED\]"
)
_PROPERTIES = re.compile(r"(?:[!&]\S*\s+)+")
_LARGEST_YAML = 65_536
"""In characters: PyYAML reads a megabyte in a second; a longer document keeps the mask as it is."""


def kept_valid(text: str, masked: str) -> str:
    """*masked*, or the same with its masks written so that the document that *text* is stays one."""
    head = text[:200].lstrip()
    if head.startswith(_JSON_START):
        return _json(text, masked)
    if len(masked) <= _LARGEST_YAML and "\n" in text.strip() and _YAML_START.match(text) and _SUSPECT.search(masked):
        return _yaml(masked)
    return masked


def _json(text: str, masked: str) -> str:
    if _is_json(masked) or not _is_json(text):
        return masked
    scrub_value = import_module("toolcharter.guards.secrets.values").scrub_value
    layout = orjson.OPT_INDENT_2 if "\n" in text.strip() else 0
    return orjson.dumps(scrub_value(orjson.loads(text))[0], option=layout).decode()


def _is_json(text: str) -> bool:
    try:
        orjson.loads(text)
    except (orjson.JSONDecodeError, RecursionError):
        return False
    return True


@cache
def _yaml_module() -> Any:
    return import_module("yaml")


def _yaml(masked: str) -> str:
    """*masked* with each plain scalar quoted whose mask YAML would read as a list, if it is YAML then."""
    module = _yaml_module()
    word = "REDACTED"
    while word in masked.replace(_MASK, ""):
        word += "x"
    bare = masked.replace(_MASK, word)
    parts: list[str] = []
    position = flows = 0
    try:
        for event in module.parse(bare, Loader=getattr(module, "CSafeLoader", module.SafeLoader)):
            if isinstance(event, module.CollectionStartEvent):
                flows += bool(event.flow_style)
            elif isinstance(event, module.CollectionEndEvent):
                # The end of a block collection has no text of its own.
                flows -= event.start_mark.index != event.end_mark.index
            elif isinstance(event, module.ScalarEvent) and not event.style and word in event.value:
                start, end = event.start_mark.index, event.end_mark.index
                properties = _PROPERTIES.match(bare, start, end)
                start = properties.end() if properties else start
                misread = _is_misread(bare[start:end], word, bare[end : end + 1], is_inside=flows > 0)
                if misread or event.tag is not None:
                    quoted = orjson.dumps(event.value.replace(word, _MASK)).decode()
                    parts += (bare[position:start].replace(word, _MASK), quoted)
                    position = end
    except module.YAMLError:
        return masked
    return "".join((*parts, bare[position:].replace(word, _MASK)))


def _is_misread(source: str, word: str, after: str, *, is_inside: bool) -> bool:
    if is_inside:
        return source != word or after == ":"
    return source.startswith(word) and (source != word or after == ":")
