"""Finds the links that a line makes, and the paths of the same line that may pass them.

The gate checks the disk once, before the line runs. At that time a link that the line makes does not exist yet, and a link
that it moves is elsewhere. So a rule has to mention each path that passes a new link, and a folder that is moved or copied
with its links may hold none.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from posixpath import basename, dirname, join, normpath
from typing import Final

from toolcharter.api.command import ListedNames, PathAccess, Requirement
from toolcharter.guards.shell import path_checks
from toolcharter.guards.shell.nodes import Command, Reading, Word, quoted
from toolcharter.guards.shell.programs.collector import RequirementCollector

_LINK_MAKERS: Final = frozenset({"ln", "link"})
_CARRIERS: Final = frozenset({"cp", "mv", "rsync"})
_EXTRACTORS: Final = frozenset({"tar", "gtar", "bsdtar", "unzip", "cpio"})
_LN_CLUSTER: Final = re.compile(r"-[bdFfiLnPrsTv]*([tS])(.*)", re.DOTALL)
_EXTRACTING: Final = re.compile(r"--(?:extract|get)|-?[A-Za-z]*[xi][A-Za-z]*")
# None of the letters before the `O` takes a value.
_TO_OUTPUT: Final = re.compile(r"--to-stdout|-?[xvtzjJZkw]*O[xvtzjJZkw]*f?")
_UNPACKED: Final = re.compile(r"--directory(?:=.*)?|--one-top-level(?:=.*)?|-?[A-Za-z]*C.*|-d.*", re.DOTALL)
_SHOWING_MEMBERS: Final = frozenset({"-l", "-p", "-t", "-v", "-z", "-Z"})
_ORDERED: Final = frozenset({"subshell", "substitution"})
_ANYWHERE: Final = (("**",),)
_WHY: Final = "leads over a link that the same line makes"

_Path = tuple[str, ...]
"""The components of a path relative to the workspace; `**` at the end means any path below."""


def require_safe_targets(
    targets: Sequence[Word], destinations: Sequence[Word], collector: RequirementCollector, *, in_folder: bool
) -> None:
    """Require that the targets of symbolic links lie in the workspace: the kernel resolves a target from the link's folder.

    Args:
        targets: The words that the links lead to.
        destinations: The words that say where the links are made.
        collector: Collects the requirements of the command.
        in_folder: Whether the destinations are certainly folders.
    """
    places_of = (_folders_of(word, collector.folders, in_folder=in_folder) for word in destinations)
    folders = tuple(dict.fromkeys(one for found in places_of for one in found))
    for target in targets:
        if target.text is None or any(word.text is None for word in destinations):
            collector.require(target, "is what a link leads to, and cannot be determined")
        elif (why := path_checks.path_violation(target.text, folders, collector.workspace)) is not None:
            collector.require(target, f"{why}, as seen from the link")
        else:
            collector.reaches.append(PathAccess(target.text, folders=folders))


def _folders_of(destination: Word, here: Sequence[str], *, in_folder: bool) -> Iterator[str]:
    """The folders in which a link at *destination* may lie: its parent, or itself if it is a folder."""
    for folder in here:
        place = join(folder, destination.text or "")
        if not in_folder and basename(place) not in {"", ".", ".."}:
            yield dirname(normpath(place)) or "."
        yield normpath(place)


class Links:
    """The links of one line."""

    def __init__(self, commands: Sequence[Command], readings: Sequence[Reading], workspace: str) -> None:
        self._commands = commands
        self._readings = readings
        self._root = normpath(workspace) if workspace else ""
        self._made = [self._links_made_by(command) for command in commands]

    def extra_requirements(self) -> Iterator[tuple[int, list[Requirement], list[ListedNames]]]:
        """For the position of each command: what a rule has to mention because of links, and what may hold no links."""
        for at, links in enumerate(self._made):
            carried = self._opened_paths(at) if _moves_links(self._commands[at]) else ()
            if not (links or carried):
                continue
            later = [other for other in range(len(self._commands)) if other != at and self._may_follow(at, other)]
            for other in later if links else ():
                if needs := list(self._link_requirements(other, links)):
                    yield other, needs, []
            if carried and any(map(self._opened_paths, later)):
                yield at, [], [ListedNames(_as_glob(one), one.folders, "unlinked") for one in carried]

    def are_crossed_by(self, reaches: Iterable[PathAccess]) -> bool:
        """Whether one of the paths *reaches*, which the shell itself reads, may pass a link that the line makes."""
        return any(self._crosses(reach, link) for reach in reaches for links in self._made for link in links)

    def _links_made_by(self, command: Command) -> tuple[_Path, ...]:
        """The links that *command* may make."""
        name = _program(command)
        words = [word.text if word.text is not None else word.pattern for word in command.words[1:]]
        if name == "git":
            return self._clone_links(command) if "clone" in words else ()
        if name not in _LINK_MAKERS and name not in _EXTRACTORS:
            return ()
        texts = [word for word in words if word is not None]
        if not command.folders or len(texts) < len(words):
            return _ANYWHERE
        made = _ln_links(texts) if name in _LINK_MAKERS else _extracted_links(name, texts)
        return tuple(self._path_parts(join(folder, path)) for folder in command.folders for path in made)

    def _clone_links(self, command: Command) -> tuple[_Path, ...]:
        """All paths below the folder that `git clone` makes; the folder itself is no link."""
        texts = [word.text for word in command.words[2:]]
        is_plain = bool(texts) and not any(not text or text[0] == "-" for text in texts)
        if command.words[1].text != "clone" or not command.folders or not is_plain:
            return _ANYWHERE
        name = basename((texts[-1] or "").rstrip("/")).removesuffix(".git").rpartition(":")[2]
        place = name if len(texts) == 1 else texts[-1] or ""
        return tuple((*self._path_parts(join(folder, place)), "**") for folder in command.folders)

    def _may_follow(self, at: int, other: int) -> bool:
        """Whether the command at *other* may still run after the one at *at* has begun."""
        one, two = self._commands[at], self._commands[other]
        is_plain = _ORDERED.issuperset(one.within) and _ORDERED.issuperset(two.within)
        is_before = is_plain and other < at and two.at < one.at and other not in one.stdin_from
        return not is_before

    def _link_requirements(self, at: int, links: Sequence[_Path]) -> Iterator[Requirement]:
        command = self._commands[at]
        carries = _moves_links(command)
        certain = self._readings[at].demand.reaches
        for reach in self._opened_paths(at):
            # Whether a bare word is a path is a guess, and each one would match a link that may lie anywhere below a folder.
            known = links if reach in certain else [link for link in links if link[-1:] != ("**",)]
            if any(self._crosses(reach, link) or (carries and self._may_hold(reach, link)) for link in known):
                same = (word.form for word in command.words if reach.path in {word.text, word.pattern})
                form = next(same, quoted(reach.path))
                yield Requirement(form, f"{form} {_WHY}")

    def _opened_paths(self, at: int) -> tuple[PathAccess, ...]:
        """The paths that a command may open; for a program without a table, any word may be one."""
        demand, command = self._readings[at].demand, self._commands[at]
        if demand.is_known:
            return demand.reaches
        words = (word.text for word in command.words[1:] if word.text and word.text[:1] != "-")
        return (*demand.reaches, *(PathAccess(word, folders=command.folders) for word in words))

    def _crosses(self, reach: PathAccess, link: _Path) -> bool:
        """Whether *reach* is the path of *link*, or passes it."""
        for components in self._components(reach):
            stack: list[str] = []
            for component in components:
                if component == "..":
                    del stack[-1:]
                    continue
                stack.append(component)
                if _may_match_link(stack, link):
                    return True
        return False

    def _may_hold(self, reach: PathAccess, link: _Path) -> bool:
        """Whether *link* may lie in the folder *reach*, which is moved or copied whole."""
        for components in self._components(reach):
            stack: list[str] = []
            for component in components:
                if component == "..":
                    del stack[-1:]
                else:
                    stack.append(component)
            if not stack or _may_match_link(stack, link[: len(stack)]):
                return True
        return False

    def _components(self, reach: PathAccess) -> Iterator[list[str]]:
        for folder in reach.folders or (".",):
            path = self._relative_to_workspace(join(folder, _as_glob(reach)))
            yield [_to_fnmatch(one) for one in path.split("/") if one not in {"", "."}]

    def _relative_to_workspace(self, path: str) -> str:
        """*path* relative to the workspace, if it lies in it."""
        return path.removeprefix(self._root) if self._root and path.startswith(f"{self._root}/") else path

    def _path_parts(self, path: str) -> _Path:
        return tuple(one for one in self._relative_to_workspace(normpath(path)).split("/") if one not in {"", "."})


def _as_glob(reach: PathAccess) -> str:
    return reach.path if reach.is_pattern else path_checks.escape_glob(reach.path)


def _program(command: Command) -> str:
    return (command.words[0].text or "").rpartition("/")[2] if command.words else ""


def _moves_links(command: Command) -> bool:
    """Whether *command* moves or copies links as they are."""
    name = _program(command)
    return name in _CARRIERS or (name == "git" and any(word.text == "mv" for word in command.words[1:3]))


def _extracted_links(name: str, words: Sequence[str]) -> list[str]:
    """The paths at which the archiver *name* with the arguments *words* may make links."""
    if name == "unzip":
        unpacks = not any(word[:2] in _SHOWING_MEMBERS for word in words)
    else:
        options = (*words[:1], *(word for word in words[1:] if word[:1] == "-"))
        unpacks = any(map(_EXTRACTING.fullmatch, options)) and not any(map(_TO_OUTPUT.fullmatch, options))
    if not unpacks:
        return []
    return ["/**"] if any(map(_UNPACKED.fullmatch, words)) else ["**"]


def _ln_links(words: Sequence[str]) -> list[str]:
    """The paths at which ln with the arguments *words* may make links."""
    folder, before, is_open = "", "", True
    operands: list[str] = []
    for word in words:
        cluster = _LN_CLUSTER.fullmatch(word)
        if before:
            folder, before = (word if before == "t" else folder), ""
        elif not is_open or word[:1] != "-" or word == "-":
            operands.append(word)
        elif word == "--":
            is_open = False
        elif word.startswith("--t"):
            _, equals, folder = word.partition("=")
            before = "" if equals else "t"
        elif word.startswith("--s") and "=" not in word and not "--symbolic".startswith(word):
            before = "S"
        elif cluster is not None and not cluster[2]:
            before = cluster[1]
        elif cluster is not None and cluster[1] == "t":
            folder = cluster[2]
    if folder or len(operands) < 2:  # noqa: PLR2004 - a source and where to
        return [join(folder, basename(normpath(one))) for one in operands]
    *sources, end = operands
    return [end, *(join(end, basename(normpath(one))) for one in sources)]


def _may_match_link(stack: Sequence[str], link: Sequence[str]) -> bool:
    """Whether the components of a path, some of them globs, may be those of *link*."""
    for place, component in enumerate(stack):
        if component == "**" or (place < len(link) and link[place] == "**"):
            return True
        if place >= len(link) or not fnmatchcase(link[place].casefold(), component.casefold()):
            return False
    return len(stack) == len(link)


def _to_fnmatch(component: str) -> str:
    """Translate a component of a glob for `fnmatch`, which has no backslash escape; from a bracket on, it matches any text."""
    characters = iter(component)
    found: list[str] = []
    for character in characters:
        if character == "[":
            return "*"
        if character == "\\":
            literal = next(characters, "")
            found.append(f"[{literal}]" if literal in "*?[" else literal)
        else:
            found.append(character)
    return "".join(found)
