"""Programs that run what a folder's build files say, or install it: `make -C z`, `cd z && make`, `pip install ./z`.

Such a program runs as much of what was brought as `sh z/install.sh` does. Installers that name a package of a registry, or
a list of them, are no such programs, wherever they run.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final

from toolcharter.guards.shell.floor.context import Call
from toolcharter.guards.shell.floor.data_sources import language
from toolcharter.guards.shell.floor.made import MadeFiles, path_in

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
"""What runs or installs the project in the folder in which it starts, by its subcommands; all of them, where none is named."""
_INSTALLERS: Final = frozenset({"pip", "pipx", "gem", "easy_install", "uvx", "npx"})
"""What does so with a folder that is named, and with no other."""
_BOTH: Final[Mapping[str, frozenset[str]]] = {
    "uv": frozenset({"pip", "tool"}),
    **dict.fromkeys("npm pnpm yarn bun".split(), frozenset({"install", "i", "add", "link"})),
}
"""Those of the former that are such installers, too, by their subcommands."""
_FOLDERS: Final = frozenset(
    "-C --directory -f --file --makefile --manifest-path --path --prefix --cwd --project --build --rootdir -B -S -p".split()
)
_LISTS: Final = frozenset({"-r", "--requirement", "--requirements", "-c", "--constraint"})
"""Their values name packages, which registries have."""


def built(call: Call, made: MadeFiles) -> str | None:
    """Why a call that builds or installs what the script has brought is catastrophic."""
    name, texts = language(call.name), call.texts
    if name == "python" and "-m" in texts[:-1]:
        at = texts.index("-m") + 1
        name, texts = texts[at], texts[at + 1 :]
    installs = name in _INSTALLERS or not _BOTH.get(name, _ANY).isdisjoint(texts[:1])
    wanted = _BUILDERS.get(name)
    if not installs and (wanted is None or (wanted and wanted.isdisjoint(texts))):
        return None
    places = [*_named(texts, has_targets=not installs), *(() if installs else (".",))]
    found = (made.of(path_in(f"{place}/x", call.command)) for place in places)
    return next((one.why for one in found if one is not None and one.why), None)


def _named(texts: tuple[str, ...], *, has_targets: bool) -> Iterator[str]:
    """The folders among the words of a call, and the files whose folders they are."""
    for before, text in pairwise(("", *texts)):
        option, equals, value = text.partition("=")
        if before in _LISTS or option in _LISTS:
            continue
        if text[:2] in _FOLDERS and text[2:3] not in {"", "-"}:
            yield text[2:]
        elif text[:1] == "-":
            yield from (value,) if equals else ()
        elif (
            before in _FOLDERS
            or "/" in text
            or (not has_targets and (text[:1] == "." or before in {"-e", "--editable"}))
        ):
            yield text.partition("[")[0]
