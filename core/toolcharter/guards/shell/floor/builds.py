"""Refuses programs that build or install a folder which the script has fetched: `make -C z`, `cd z && make`, `pip install ./z`.

Such a program runs fetched code just as `sh z/install.sh` does. An installer that gets a package of a registry, or a list of
packages, does not count, in whatever folder it runs.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final

from toolcharter.guards.shell.floor.context import Call
from toolcharter.guards.shell.floor.data_sources import without_version
from toolcharter.guards.shell.floor.written_files import WrittenFiles, resolve_path

_ANY: Final = frozenset[str]()
_SCRIPTS: Final = frozenset({"run", "run-script", "test", "t", "start", "exec", "build", "dev", "pack"})
_BUILDERS: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys("make gmake remake ninja samu cmake scons just rake task tox nox pytest py.test".split(), _ANY),
    **dict.fromkeys("gradle mvn ant bazel ansible-playbook".split(), _ANY),
    **dict.fromkeys("npm pnpm yarn bun".split(), _SCRIPTS),
    "meson": frozenset({"setup", "compile", "install", "test"}),
    "cargo": frozenset({"build", "b", "run", "r", "test", "t", "bench", "check", "c", "clippy", "install"}),
    "go": frozenset({"run", "test", "generate"}),
    "dotnet": frozenset({"build", "run", "test"}),
    "swift": frozenset({"build", "run", "test"}),
    "bundle": frozenset({"exec", "install"}),
    "composer": frozenset({"install", "run-script"}),
    "build": _ANY,
    **dict.fromkeys("poetry hatch pdm uv".split(), frozenset({"install", "build", "run", "sync", "test"})),
}
"""Programs that run or install the project in their working folder, with the subcommands that do so; empty means all."""
_INSTALLERS: Final = frozenset({"pip", "pipx", "gem", "easy_install", "uvx", "npx"})
"""Programs that do so only with a folder that is an argument."""
_ALSO_INSTALLERS: Final[Mapping[str, frozenset[str]]] = {
    "uv": frozenset({"pip", "tool"}),
    **dict.fromkeys("npm pnpm yarn bun".split(), frozenset({"install", "i", "add", "link"})),
}
"""Programs of the first table that also belong to the second, with the subcommands for which that holds."""
_FOLDER_OPTIONS: Final = frozenset(
    "-C --directory -f --file --makefile --manifest-path --path --prefix --cwd --project --build --rootdir -B -S -p".split()
)
_PACKAGE_LISTS: Final = frozenset({"-r", "--requirement", "--requirements", "-c", "--constraint"})
"""Options whose values are files that list packages of registries."""


def check_build(call: Call, written: WrittenFiles) -> str | None:
    """Why *call* is catastrophic: it builds or installs a folder that the script has fetched; None if it does not."""
    name, texts = without_version(call.name), call.texts
    if name == "python" and "-m" in texts[:-1]:
        at = texts.index("-m") + 1
        name, texts = texts[at], texts[at + 1 :]
    installs = name in _INSTALLERS or not _ALSO_INSTALLERS.get(name, _ANY).isdisjoint(texts[:1])
    wanted = _BUILDERS.get(name)
    if not installs and (wanted is None or (wanted and wanted.isdisjoint(texts))):
        return None
    places = [*_named_folders(texts, has_targets=not installs), *(() if installs else (".",))]
    found = (written.find(resolve_path(f"{place}/x", call.command)) for place in places)
    return next((one.why for one in found if one is not None and one.why), None)


def _named_folders(texts: tuple[str, ...], *, has_targets: bool) -> Iterator[str]:
    """The folders that a call names: among its words, and as the parents of files among its words."""
    for before, text in pairwise(("", *texts)):
        option, equals, value = text.partition("=")
        if before in _PACKAGE_LISTS or option in _PACKAGE_LISTS:
            continue
        if text[:2] in _FOLDER_OPTIONS and text[2:3] not in {"", "-"}:
            yield text[2:]
        elif text[:1] == "-":
            yield from (value,) if equals else ()
        elif (
            before in _FOLDER_OPTIONS
            or "/" in text
            or (not has_targets and (text[:1] == "." or before in {"-e", "--editable"}))
        ):
            yield text.partition("[")[0]
