"""`read_settings`: reads a YAML file of a host's own settings like a profile, with the place of every fault."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import ValidationError

from toolcharter.api.policy import ToolPolicy
from toolcharter.errors import ConfigurationError, Fault
from toolcharter.profile.document import decode_utf8
from toolcharter.profile.faults import faults_of
from toolcharter.profile.nodes import KeyPath, Node, Places, in_file_order, remove_paths, to_plain
from toolcharter.profile.parse import parse_yaml

P = TypeVar("P", bound=ToolPolicy)
MAX_BYTES = 1 << 20
_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)


class SettingsFile(NamedTuple, Generic[P]):
    """The settings of a file, and their places."""

    values: P
    places: Places
    body: str = ""
    """The text below the front matter, if the file was read with one."""
    faults: tuple[Fault, ...] = ()
    """The faults of the file, if it was read with *sound*."""
    wrong: frozenset[KeyPath] = frozenset()
    """The paths that were left out because of the faults."""

    def fault(self, path: tuple[str | int, ...], what: str, fix: str = "") -> Fault:
        """Make a fault of the value at *path*, for a check that only the caller can do.

        Args:
            path: Keys and numbers, such as `("tenants", "acme")`.
            what: A sentence that says what is wrong.
            fix: What to do.
        """
        return Fault(self.places.value_of(*path), ".".join(map(str, path)), what, fix)

    def error(self, faults: Iterable[Fault]) -> ConfigurationError:
        """Put *faults* into one error without duplicates: first those of this file, each file from top to bottom."""
        return ConfigurationError(in_file_order(dict.fromkeys(faults), self.places.root.place.file))


def read_settings(
    file: str | Path, model: type[P], *, least: str, front_matter: bool = False, sound: type[P] | None = None
) -> SettingsFile[P]:
    """Read the settings *model* from the YAML file *file*; no file that it names is read.

    Args:
        file: Its path; faults name it as it is given.
        model: The model to read: its fields are the keys, as with a tool's policy.
        least: What to write into an empty file.
        front_matter: Whether the settings are between a first line `---` and the next such line, above a text.
        sound: The model without required fields. With it, a file with faults is returned together with its faults. Its
            values then lack the parts at fault, so that the caller can look for more faults before it raises them.

    Raises:
        ConfigurationError: The file has faults. It holds all of them; with *sound*, it is raised only for invalid YAML.
    """
    name, faults = str(file), list[Fault]()
    try:
        content = Path(file).read_bytes()
    except OSError as error:
        raise ConfigurationError([Fault(name, "", f"the file cannot be read: {error.strerror}.", "")]) from error
    if len(content) > MAX_BYTES:
        raise ConfigurationError([Fault(name, "", f"the file has more than {MAX_BYTES} bytes.", "Shorten it.")])
    text, body = decode_utf8(content, name, faults), ""
    if front_matter and text is not None:
        text, body = _split_front_matter(text, name)
    root = None if text is None else parse_yaml(text, name, faults, least=least)
    if root is not None:
        places, refused = Places(root), {fault.place for fault in faults}
        try:
            values: Any = to_plain(root)
            read = model.from_profile(values)
        except ValidationError as error:
            # Where the parser has replaced a refused value, a fault of the model would be about the replacement.
            faults += [fault for fault in faults_of(error, places, model=model) if fault.place not in refused]
        else:
            if not faults:
                return SettingsFile(read, places, body)
        if sound is not None:
            left, tree, wrong = _valid_part(root, sound)
            return SettingsFile(left, Places(tree), body, tuple(in_file_order(faults)), wrong)
    raise ConfigurationError(in_file_order(faults))


def _valid_part(root: Node, model: type[P]) -> tuple[P, Node, frozenset[KeyPath]]:
    """Return what the *model* accepts of *root*, the tree of that part, and the paths that were left out."""
    wrong = set[KeyPath]()
    while True:
        values: Any = to_plain(root)
        try:
            return model.from_profile(values), root, frozenset(wrong)
        except ValidationError as error:
            # A missing key cannot be left out, so the mapping that lacks it is removed.
            removed = {Places(root).existing_part(one["loc"]) for one in error.errors(include_url=False)}
        wrong |= removed
        root = remove_paths(root, removed) if () not in removed else root._replace(value={})


def _split_front_matter(text: str, name: str) -> tuple[str, str]:
    """Split *text* into the front matter, with each line at its line number in the file, and the text below it."""
    found = _FRONT_MATTER.match(text)
    if found is None:
        fix = "Begin the file with a line `---`, and end the settings with another such line."
        raise ConfigurationError([Fault(f"{name}:1:1", "", "the file has no front matter.", fix)])
    return f"\n{found[1]}", text[found.end() :].strip()
