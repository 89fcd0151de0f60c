"""Programs that remove files themselves: build tools, caches and package managers that get the folder to clean.

Sources: cmake(1), "Run a Command-Line Tool"; the manuals of the programs.
"""

import re
from collections.abc import Iterator

from toolcharter.guards.shell.floor.context import Call, Context
from toolcharter.guards.shell.floor.data_sources import without_version
from toolcharter.guards.shell.floor.word_texts import Arg
from toolcharter.guards.shell.nodes import Command

_CLEANERS = {
    name: frozenset(verbs.split())
    for names, verbs in (
        ("cargo", "clean"),
        (
            "gradle gradlew mvn mvnw mvnd ant sbt dotnet xcodebuild swift flutter stack cabal dune bazel bazelisk",
            "clean distclean reset",
        ),
        ("scons waf", "-c --clean clean distclean"),
        ("ninja samu", "clean cleandead"),
        ("meson", "--wipe"),
        ("go", "clean"),
        ("npm yarn pnpm bun pip uv composer poetry", "clean purge prune clear --clear"),
        ("virtualenv venv", "--clear"),
        ("conda mamba micromamba", "remove clean"),
        ("latexmk", "-C -c"),
        ("coverage", "erase"),
        ("sphinx-build", "clean"),
        ("hg", "purge"),
        ("svn", "--remove-unversioned --remove-ignored"),
        ("rclone", "purge delete sync rmdirs rmdir deletefile move"),
        ("gio kioclient kioclient5 gvfs", "trash remove rm"),
        ("mc gsutil s3cmd s5cmd", "rm"),
        ("zip", "-m --move -mr -rm"),
        ("7z 7za 7zr", "-sdel"),
        ("rsync", "--remove-source-files"),
        ("stow", "-D --delete"),
        ("systemd-tmpfiles", "--remove --purge"),
        ("bleachbit", "-c --clean"),
    )
    for name in names.split()
}
"""Programs, with the words that make them remove the folders in their arguments."""
_ALWAYS_REMOVE = frozenset({"trash-put", "gvfs-rm", "gvfs-trash", "tmpreaper", "tmpwatch", "stale", "rm-rf", "rmrf"})
_FOLDER_VARIABLES = frozenset(
    {"CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR", "GOCACHE", "GOMODCACHE", "GOPATH", "GIT_WORK_TREE"}
)
"""Variables that name the folder to clean."""
_SETTING = re.compile(r"([A-Z_]+)=(.*)", re.DOTALL)
_VALUED = re.compile(r"-{0,2}[A-Za-z][\w.-]*=(.+)", re.DOTALL)
_SHORT = re.compile(r"-[A-Za-z](/.*)", re.DOTALL)
CLEANERS = (*_CLEANERS, *_ALWAYS_REMOVE)
_CMAKE_REMOVES = frozenset({"rm", "remove", "remove_directory"})
_CMAKE_WRITES = frozenset({"rename", "copy", "copy_if_different", "touch", "create_symlink", "create_hardlink"})
_CMAKE_MOVERS = frozenset({"rename"})


def check_clean(call: Call, context: Context) -> str | None:
    """`cargo clean --target-dir /`, `gradle clean -PbuildDir=/`, `rclone purge /`."""
    texts = frozenset(call.texts)
    if call.name not in _ALWAYS_REMOVE and texts.isdisjoint(_CLEANERS.get(without_version(call.name), ())):
        return None
    return _check_loss(call, context, _named_paths(call))


def check_clean_settings(call: Call, context: Context) -> str | None:
    """`env CARGO_TARGET_DIR=/ cargo clean`."""
    given = (found for text in call.texts if (found := _SETTING.fullmatch(text)))
    places = [Arg(found[2]) for found in given if found[1] in _FOLDER_VARIABLES]
    return _check_loss(call, context, iter(places)) if places and not {"clean"}.isdisjoint(call.texts) else None


def _check_loss(call: Call, context: Context, places: Iterator[Arg]) -> str | None:
    return next((f"deletes {why}" for arg in places if (why := context.loss(call, arg, own=False))), None)


def _named_paths(call: Call) -> Iterator[Arg]:
    """The places that a call may name: operands, values of options and settings, variables set for it."""
    for arg in call.args:
        yield arg
        for found in (_VALUED.fullmatch(arg.text), _SHORT.fullmatch(arg.text)):
            if found is not None:
                yield Arg(found[1], is_fixed=arg.is_fixed)
    for one in call.command.assignments:
        if one.name in _FOLDER_VARIABLES:
            yield Arg(one.value.text or one.value.form.strip('"'))


def check_cmake(call: Call, context: Context) -> str | None:
    """`cmake -E rm -rf /`, `cmake -E env rm -rf /`, `cmake -E chdir / rm -rf .`."""
    texts = [word.text for word in call.command.words]
    at = texts.index("-E") + 1 if "-E" in texts else len(texts)
    words = call.command.words[at:]
    name = words[0].text if words else None
    if name in _CMAKE_REMOVES:
        # Rules of `deny` see it as the program of that name.
        return (
            context.check_command(call.command._replace(words=words, assignments=()))
            or _check_loss(call, context, _operands(call, at))
            or _check_vital_files(call, context, at)
        )
    if name in _CMAKE_WRITES:
        why = _check_loss(call, context, _operands(call, at)) if name in _CMAKE_MOVERS else None
        return why or _check_vital_files(call, context, at)
    started = {"env": 1, "time": 1, "chdir": 2}.get(name or "", 0)
    rest = words[started:]
    while name == "env" and rest and ((rest[0].text or "").startswith("-") or "=" in (rest[0].text or "")):
        rest = rest[1:]
    if not started or not rest:
        return None
    command = call.command._replace(words=rest, assignments=())
    return context.check_command(_in_folder(command, words[1].text) if name == "chdir" else command)


def _in_folder(command: Command, folder: str | None) -> Command:
    return command._replace(folders=() if folder is None else (folder,))


def _operands(call: Call, at: int) -> Iterator[Arg]:
    rest = call.from_word(at, call.name)
    return (arg for arg in rest.args if arg.text[:1] != "-")


def _check_vital_files(call: Call, context: Context, at: int) -> str | None:
    return next((f"overwrites {why}" for arg in _operands(call, at) if (why := context.vital_file(call, arg))), None)
