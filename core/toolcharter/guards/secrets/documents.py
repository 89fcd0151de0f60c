"""Keep a JSON or YAML document valid when secrets in it are masked.

The mask contains brackets, which are not valid everywhere: `[REDACTED] and more` is not YAML, and a mask outside quotes
is not JSON. Only the masked text is examined, and only if something was masked. `text` quotes the mask of a number
beside a JSON key, in any text; this module does what needs the whole document.
"""

import re
from functools import cache
from importlib import import_module
from typing import Any

import orjson

_MASK = "[REDACTED]"
_BARE = "REDACTED"
_JSON_START = ("{", "[", '"')
_YAML_START = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\r?\n|%[^\n]*\n)*(?:---(?=\s)|- |[\"']?[\w./-]+[\"']?:(?:[ \t\r\n]|$))")
# A mask whose bracket YAML would read: at the beginning of a longer value or key, and after a tag or an anchor.
_SUSPECT = re.compile(
    r"(?:^[ \t]*|[:?-][ \t]+)(?:[!&]\S{0,200}[ \t]+){0,2}\[REDACTED\](?=\S|[ \t]+[^\s#])|^\[REDACTED\]"
    r"|(?:^|[ \t])[!&]\S{0,200}[ \t]+\[REDACTED\]"
)
_OPENING = re.compile(r"[\[{,]")
_LEFT_OPEN = re.compile(r"(?m)[\[{][^\[\]{}\n]*$")
"""A bracket that a line leaves open: following lines may be inside it, although they contain no bracket."""
_PROPERTIES = re.compile(r"(?:[!&]\S*\s+)+")
_NUMBER_TAG = re.compile(r"!!(?:int|float|bool|null|timestamp)[ \t]+")
"""Tags of types that a mask does not have."""
_LARGEST_YAML = 65_536
"""In characters: PyYAML parses a megabyte per second. Beyond it, masks lose brackets that YAML would read."""


def keep_valid(text: str, masked: str) -> str:
    """Return *masked*, with its masks rewritten if necessary, so that it stays a valid document if *text* is one."""
    head = text[:200].lstrip()
    if head.startswith(_JSON_START):
        return _keep_json_valid(text, masked)
    if "\n" in text.strip() and _YAML_START.match(text) and _may_break(masked):
        return _keep_yaml_valid(masked)
    return masked


def _may_break(masked: str) -> bool:
    return _LEFT_OPEN.search(masked) is not None or any(map(_is_suspect, masked.split("\n")))


def _is_suspect(line: str) -> bool:
    head, mask, _ = line.partition(_MASK)
    return bool(mask) and (_OPENING.search(head) is not None or _SUSPECT.search(line) is not None)


def _keep_json_valid(text: str, masked: str) -> str:
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


def _keep_yaml_valid(masked: str) -> str:
    """Quote each plain scalar of *masked* whose mask YAML would read as a list. Text that is not YAML is not changed."""
    module = _yaml_module()
    word = _BARE
    while word in masked.replace(_MASK, ""):
        word += "x"
    bare = masked.replace(_MASK, word)
    parts: list[str] = []
    position = flows = 0
    stop = len(bare)
    try:
        for event in module.parse(bare, Loader=getattr(module, "CSafeLoader", module.SafeLoader)):
            if event.start_mark.index > _LARGEST_YAML:
                stop = event.start_mark.index
                break
            if isinstance(event, module.CollectionStartEvent):
                flows += bool(event.flow_style)
            elif isinstance(event, module.CollectionEndEvent):
                # The end of a block collection has no text, unlike a closing bracket.
                flows -= event.start_mark.index != event.end_mark.index
            elif isinstance(event, module.ScalarEvent) and word in event.value:
                begin, end = event.start_mark.index, event.end_mark.index
                properties = _PROPERTIES.match(bare, begin, end)
                start = properties.end() if properties else begin
                given = _NUMBER_TAG.sub("", bare[begin:start])
                misread = not event.style and (
                    event.tag is not None
                    or _is_misread(bare[start:end], word, bare[end : end + 1], is_inside=flows > 0)
                )
                if misread or given != bare[begin:start]:
                    quoted = orjson.dumps(event.value).decode() if misread else bare[start:end]
                    parts += (bare[position:begin], given, quoted)
                    position = end
    except module.YAMLError:
        return masked
    parts.append(bare[position:stop])
    return "".join(parts).replace(word, _MASK) + _without_brackets(bare[stop:].replace(word, _MASK), masked)


def _without_brackets(rest: str, masked: str) -> str:
    """Return the *rest* of a long document, with the brackets of masks removed in lines where YAML may read them."""
    if _MASK not in rest:
        return rest
    is_open = _LEFT_OPEN.search(masked) is not None
    lines = rest.split("\n")
    return "\n".join(_without_mask_brackets(line) if is_open or _is_suspect(line) else line for line in lines)


def _without_mask_brackets(line: str) -> str:
    return _NUMBER_TAG.sub(lambda tag: "" if line.startswith(_MASK, tag.end()) else tag[0], line).replace(_MASK, _BARE)


def _is_misread(source: str, word: str, after: str, *, is_inside: bool) -> bool:
    if is_inside:
        return source != word or after == ":"
    return source.startswith(word) and (source != word or after == ":")
