"""Parses `SKILL.md`: the block at its beginning, in the agent skills format, and the text below it.

Source: the Agent Skills specification, https://agentskills.io/specification.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from yaml import AliasEvent, YAMLError
from yaml import SafeLoader as YamlLoader

FILE = "SKILL.md"
MAX_NAME = 64
MAX_DESCRIPTION = 1024
MAX_COMPATIBILITY = 500
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_LONGEST = 65_536
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]")


class UnusableSkill(Exception):
    """A folder is no usable skill; the reason is a short word and a sentence."""

    def __init__(self, word: str, message: str) -> None:
        super().__init__(message)
        self.word = word
        self.message = message


class Manifest(NamedTuple):
    """A skill's description of itself: untrusted text of its author."""

    name: str
    description: str
    compatibility: str
    body: str


class _Loader(YamlLoader):
    """Rejects aliases, with which a short text can expand to a large one."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(AliasEvent):
            raise UnusableSkill("bad_manifest", "the block at its beginning holds an alias")
        return super().compose_node(parent, index)


def parse_manifest(folder: str, source: bytes) -> Manifest:
    """Parse the `SKILL.md` of the folder named *folder*.

    Unknown keys are ignored, and so is `allowed-tools`: only a profile can allow tools.

    Raises:
        Unusable: `bad_manifest`, `bad_name` or `bad_description`.
    """
    try:
        text = source.decode().removeprefix("\ufeff").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise UnusableSkill("bad_manifest", f"{FILE} is no UTF-8") from error
    head, *rest = f"{text}\n".split("\n---\n", 1)
    if not head.startswith("---\n") or not rest or len(head) > _LONGEST:
        raise UnusableSkill("bad_manifest", f"{FILE} does not begin with a block between lines of `---`")
    keys = _keys(head.removeprefix("---\n"))
    name, description, compatibility = (keys.get(key, "") for key in ("name", "description", "compatibility"))
    if not isinstance(name, str) or len(name) > MAX_NAME or not _NAME.fullmatch(name) or name != folder:
        raise UnusableSkill("bad_name", "its name is not that of its folder, in small letters, digits and single `-`")
    if not isinstance(description, str) or not description.strip() or len(description) > MAX_DESCRIPTION:
        raise UnusableSkill("bad_description", f"its description is no text of 1 to {MAX_DESCRIPTION} characters")
    if not isinstance(compatibility, str) or len(compatibility) > MAX_COMPATIBILITY:
        raise UnusableSkill("bad_manifest", f"compatibility is no text of at most {MAX_COMPATIBILITY} characters")
    return Manifest(name, _one_line(description), _one_line(compatibility), rest[0].strip("\n"))


def _keys(source: str) -> Mapping[str, Any]:
    loader: _Loader | None = None
    try:
        loader = _Loader(source)
        found = loader.get_single_data()
    except (YAMLError, RecursionError, ValueError) as error:
        raise UnusableSkill("bad_manifest", f"the block cannot be read: {type(error).__name__}") from error
    finally:
        if loader is not None:
            loader.dispose()
    if not isinstance(found, dict):
        raise UnusableSkill("bad_manifest", "the block is no mapping")
    return found


def _one_line(text: str) -> str:
    """Return *text* in one line, without control characters: it must not pass for another line of the index."""
    return _CONTROLS.sub("", " ".join(text.split()))
