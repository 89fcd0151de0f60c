"""Finds the profiles that tests name: by a path or glob below the root folder, or by a bare name."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from toolcharter._lazy import lazy
from toolcharter.errors import ConfigurationError, Fault, did_you_mean
from toolcharter.profile.find import OWN_FOLDER, SUFFIXES, ProfileUnusable, is_name
from toolcharter.profile.resolve import locate

if TYPE_CHECKING:
    from toolcharter.loader import origin, scan
else:
    origin = lazy("toolcharter.loader.origin")
    scan = lazy("toolcharter.loader.scan")


def find_profiles(named: Iterable[str], root: Path) -> list[Path]:
    """Return every file that *named* refers to, without duplicates.

    Args:
        named: Paths and globs relative to *root*, and bare names, which are looked up in
            *root*/profiles, among the shipped profiles and in plugins.
        root: pytest's rootdir.

    Raises:
        ConfigurationError: Names match no profile. It holds one fault for each of them.
    """
    found: dict[Path, None] = {}
    faults: list[Fault] = []
    for name in named:
        try:
            found |= dict.fromkeys(_files_named(name, root))
        except ConfigurationError as error:
            faults.extend(error.faults)
    if faults:
        raise ConfigurationError(faults)
    return list(found)


def find_profile(profile: str | Path, root: Path) -> Path:
    """Return the one file that *profile* refers to; a path may also be absolute.

    Raises:
        ConfigurationError: No profile has this name or path, or the name is ambiguous.
    """
    if isinstance(profile, Path) or not is_name(profile):
        file = root / profile
        if file.is_file():
            return file
        near = did_you_mean(file.name, [other.name for other in file.parent.glob("*") if other.suffix in SUFFIXES])
        raise ConfigurationError([Fault(f"profile {str(profile)!r}", "", f"there is no file '{file}'.", near)])
    try:
        found = locate(profile, origin.profile_folders(scan.find_installed()), own=str(root / OWN_FOLDER))
    except ProfileUnusable as problem:
        raise ConfigurationError([Fault(f"profile {profile!r}", "", problem.what, problem.fix)]) from problem
    return Path(found).absolute()


def display_path(file: Path) -> Path:
    """Return *file* as messages name it: relative if it is below the current folder."""
    here = Path.cwd()
    return file.relative_to(here) if file.is_relative_to(here) else file


def _files_named(name: str, root: Path) -> Iterator[Path]:
    if "*" not in name:
        yield find_profile(name, root)
        return
    matching = sorted(file for file in root.glob(name) if file.suffix in SUFFIXES)
    if not matching:
        raise ConfigurationError([Fault(f"profile {name!r}", "", f"no profile below '{root}' matches.", "")])
    yield from matching
