"""`read_settings`: a YAML file of a host's own settings, read as a profile is, with every fault at its place."""

import re
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import ValidationError

from toolcharter.api.policy import ToolPolicy
from toolcharter.errors import ConfigurationError, Fault
from toolcharter.profile.document import decoded
from toolcharter.profile.faults import faults_of
from toolcharter.profile.nodes import Places, in_file_order, plain
from toolcharter.profile.parse import parse

P = TypeVar("P", bound=ToolPolicy)
MAX_BYTES = 1 << 20
_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)


class SettingsFile(NamedTuple, Generic[P]):
    """What a file of settings said, and where."""

    values: P
    places: Places
    body: str = ""
    """The text below the front matter, of a file that was read as one."""

    def fault(self, path: tuple[str | int, ...], what: str, fix: str = "") -> Fault:
        """A fault of the value at *path*, which only its reader can see.

        Args:
            path: Keys and numbers, such as `("tenants", "acme")`.
            what: A sentence.
            fix: What to do.
        """
        return Fault(self.places.value_of(*path), ".".join(map(str, path)), what, fix)


def read_settings(file: str | Path, model: type[P], *, least: str, front_matter: bool = False) -> SettingsFile[P]:
    """Read the settings *model* from the YAML file *file*; nothing is read that the file names.

    Args:
        file: Its path; faults name it as it is given.
        model: What is read: its fields are the keys, as those of a tool's policy are.
        least: What to write into an empty file.
        front_matter: Whether the settings are what stands between a first line `---` and the next such line, above a text.

    Raises:
        ConfigurationError: With every fault of the file.
    """
    name, faults = str(file), list[Fault]()
    try:
        content = Path(file).read_bytes()
    except OSError as error:
        raise ConfigurationError([Fault(name, "", f"the file cannot be read: {error.strerror}.", "")]) from error
    if len(content) > MAX_BYTES:
        raise ConfigurationError([Fault(name, "", f"the file has more than {MAX_BYTES} bytes.", "Shorten it.")])
    text, body = decoded(content, name, faults), ""
    if front_matter and text is not None:
        text, body = _parted(text, name)
    root = None if text is None else parse(text, name, faults, least=least)
    if root is not None:
        places, refused = Places(root), {fault.place for fault in faults}
        try:
            values: Any = plain(root)
            read = model.from_profile(values)
        except ValidationError as error:
            # Where the parser put something else for what it refused, the model has nothing to say.
            faults += [fault for fault in faults_of(error, places, model=model) if fault.place not in refused]
        else:
            if not faults:
                return SettingsFile(read, places, body)
    raise ConfigurationError(in_file_order(faults))


def _parted(text: str, name: str) -> tuple[str, str]:
    """The front matter, each line where it stood in the file, and the text below it."""
    found = _FRONT_MATTER.match(text)
    if found is None:
        fix = "Let the first line be `---`, and end the settings by another such line."
        raise ConfigurationError([Fault(f"{name}:1:1", "", "the file has no front matter.", fix)])
    return f"\n{found[1]}", text[found.end() :].strip()
