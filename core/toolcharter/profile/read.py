"""`read_profile` and `load_profile`: read the effective profile from a name or a path, with all faults at once."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from toolcharter.errors import ConfigurationError, Fault
from toolcharter.profile import find, resolve
from toolcharter.profile.compose import Composer
from toolcharter.profile.model import Profile
from toolcharter.profile.nodes import Node, Place, Places, in_file_order


class ProfileSource(NamedTuple):
    """The result of reading a profile: the profile as far as it has no faults, and every fault so far."""

    profile: Profile | None
    """Without the parts at fault; None if its own file cannot be used at all. Never use it while there are faults."""
    faults: list[Fault]
    """The caller adds the faults that only it can detect before it raises all of them."""
    places: Places
    files: tuple[Path, ...] = ()
    """The profile's own file, then the files it extends, without duplicates."""


class FoundProfile(NamedTuple):
    """A profile that can be used by its bare name."""

    name: str
    """The bare name that finds it; its `profile:` key may differ."""
    description: str | None
    place: str
    """The path of its file."""
    faults: tuple[Fault, ...] = ()


def read_profile(profile: str | Path, *, search: Sequence[str | Path] = ()) -> ProfileSource:
    """Read a profile and all that it extends, collecting faults instead of raising.

    Args:
        profile: A path, or a bare name (letters, digits, `_`, `-`) that is looked up in
            `./profiles`, among the shipped profiles and in *search*; see `resolve`.
        search: Folders in which plugins ship profiles.
    """
    composer = Composer(search)
    file: str | None = None
    try:
        file = resolve.locate(profile, search)
        tree = composer.read(file)
    except find.ProfileUnusable as problem:
        place = f"profile {profile!r}" if file is None else file
        composer.faults.append(Fault(place, "", problem.what, problem.fix))
        tree = None
    if tree is None:
        return ProfileSource(
            None,
            in_file_order(composer.faults, *composer.files),
            Places(Node({}, Place(file or str(profile)))),
            _file_paths(composer),
        )
    read = composer.build_profile(tree)
    return ProfileSource(read, in_file_order(composer.faults, *composer.files), Places(tree), _file_paths(composer))


def load_profile(profile: str | Path, *, search: Sequence[str | Path] = ()) -> Profile:
    """Read a profile, or refuse it.

    Raises:
        ConfigurationError: The profile has faults. It holds every fault of every file.
    """
    source = read_profile(profile, search=search)
    if source.faults or source.profile is None:
        raise ConfigurationError(source.faults)
    return source.profile


def list_profiles(search: Sequence[str | Path] = ()) -> list[FoundProfile]:
    """Return every profile that a bare name finds, by name; those with faults, too."""
    found = {name: resolve.distinct_profiles(files, search) for name, files in find.find_names(search).items()}
    return [_to_found_profile(name, file, files, search) for name, files in found.items() for file in files]


def _to_found_profile(name: str, file: str, files: Sequence[str], search: Sequence[str | Path]) -> FoundProfile:
    source = read_profile(Path(file), search=search)
    faults = list(source.faults)
    if len(files) > 1:
        clash = resolve.ambiguous_name_error(name, files)
        faults.insert(0, Fault(file, "", clash.what, clash.fix))
    return FoundProfile(name, source.profile.description if source.profile else None, file, tuple(faults))


def _file_paths(composer: Composer) -> tuple[Path, ...]:
    return tuple(map(Path, composer.files))
