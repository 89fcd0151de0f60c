"""`read_settings`: a YAML file of a host's own settings, read as a profile is, with every fault at its place."""

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


class SettingsFile(NamedTuple, Generic[P]):
    """What a file of settings said, and where."""

    values: P
    places: Places

    def fault(self, path: tuple[str | int, ...], what: str, fix: str = "") -> Fault:
        """A fault of the value at *path*, which only its reader can see.

        Args:
            path: Keys and numbers, such as `("tenants", "acme")`.
            what: A sentence.
            fix: What to do.
        """
        return Fault(self.places.value_of(*path), ".".join(map(str, path)), what, fix)


def read_settings(file: str | Path, model: type[P], *, least: str) -> SettingsFile[P]:
    """Read the settings *model* from the YAML file *file*; nothing is read that the file names.

    Args:
        file: Its path; faults name it as it is given.
        model: What is read: its fields are the keys, as those of a tool's policy are.
        least: What to write into an empty file.

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
    text = decoded(content, name, faults)
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
                return SettingsFile(read, places)
    raise ConfigurationError(in_file_order(faults))
