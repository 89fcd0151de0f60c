"""The words that xargs or a loop gets from a command, where its arguments determine them: names on disk, or literals.

Pure: `toolcharter.gate.stages.s4_confine` checks the names. Source: manuals of findutils 4.9, ls, grep, rg, git, bash.
"""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from toolcharter._lazy import lazy
from toolcharter.api.command import ListedNames
from toolcharter.guards.shell import path_checks
from toolcharter.guards.shell.nodes import Command, Word
from toolcharter.guards.shell.programs.expressions import pattern_tail

if TYPE_CHECKING:
    from toolcharter.guards.shell import name_listings
else:
    name_listings = lazy("toolcharter.guards.shell.name_listings")

_MAX_POINTS: Final = 8
_HERE: Final = "."
# Texts that are no option, and that no program splits, expands or takes for an assignment.
_POINT: Final = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_@%+:,./-]*")
_GLOB: Final = re.compile(r"[A-Za-z0-9_./*?][A-Za-z0-9_@%+,./*?-]*")
_SPEC: Final = re.compile(r"[A-Za-z0-9_.*?][A-Za-z0-9_./*?-]*")
_LITERAL: Final = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
_QUIET: Final = "2>/dev/null"
_FIND_FLAGS: Final = frozenset(
    """( ) ! , -a -and -o -or -not -daystart -depth -d -empty -executable -false -readable -writable -true -mount -xdev
    -nouser -nogroup -noleaf -prune -quit""".split()
)
_FIND_TESTS: Final = frozenset(
    """-maxdepth -mindepth -amin -atime -cmin -ctime -mmin -mtime -size -perm -type -xtype -name -iname -path -ipath
    -wholename -iwholename -regex -iregex -regextype -newer -user -group -uid -gid -links -inum""".split()
)
_FIND_PRINTS: Final = frozenset({"-print", "-print0"})
_LS_OPTIONS: Final = re.compile(r"-[1rtSUd]+")
_CHOOSES: Final = re.compile(r"--(?:include|exclude|exclude-dir)=")
_GREP_OPTIONS: Final = re.compile(r"-[rlLisIwvxEFGPZ]+|--(?:include|exclude|exclude-dir)=.*")
_RG_OPTIONS: Final = re.compile(r"-[liswSFv0]+|--(?:files|hidden|glob=.*|type=.*)")
_RG_PAIRS: Final = frozenset({"-g", "--glob", "-t", "--type", "-T", "--type-not"})
_FD_OPTIONS: Final = re.compile(r"-[HIFsig]+|--(?:hidden|no-ignore|glob|extension=.*|type=.*|exclude=.*)")
_FD_PAIRS: Final = frozenset({"-e", "--extension", "-t", "--type", "-E", "--exclude", "-d", "--max-depth"})
_GREP_OPTION: Final = re.compile(r"-[ilwEFP]+")
_DIFF_OPTIONS: Final = frozenset({"--name-only", "--cached", "--staged", "--no-renames"})
_KINDS: Final = re.compile(r"--diff-filter=(?:[ACDMRTUX]+|[acdmrtux]+)")
_REVISION: Final = re.compile(r"[A-Za-z0-9_@](?:[A-Za-z0-9_@/^~-]|\.(?!\.))*")
# For each program, its arguments, joined by blanks, with which it prints whole lines of its input unchanged.
_LINE_FILTERS: Final = {
    "cat": re.compile(""),
    "head": re.compile(r"(?:-[0-9]+|-n ?[0-9]+)?"),
    "shuf": re.compile(""),
    "sort": re.compile(r"(?:-[ufrnVh]+)?"),
    "tac": re.compile(""),
    "tail": re.compile(r"(?:-[0-9]+|-n ?\+?[0-9]+)?"),
    "uniq": re.compile(r"(?:-[ud])?"),
}
_NULL_FILTERS: Final = {
    "head": re.compile(r"-z -n ?[0-9]+|-n ?[0-9]+ -z|-zn ?[0-9]+"),
    "shuf": re.compile(r"-z"),
    "sort": re.compile(r"-[ufrnVh]*z[ufrnVh]*"),
    "uniq": re.compile(r"-[ud]?z[ud]?"),
}
_PATTERN_FILTERS: Final = frozenset({"grep", "egrep", "fgrep"})
_LISTS_MATCHING: Final = re.compile(r"-[lLiwvxsEFP]+")
_PATTERN_OPTIONS: Final = re.compile(r"-[vEFPiwx]*e?")


class Output(NamedTuple):
    """The output of a command."""

    words: tuple[Word, ...]
    """The words in it. A pattern may match many names; a literal word is one text."""
    listings: tuple[ListedNames, ...] = ()
    """What the gate has to check of the names on disk."""
    is_null: bool = False
    """Whether each name ends with a NUL byte."""
    lines: tuple[str, ...] = ()
    """The output line by line, if all words are literal."""


def known_output(feeder: Command) -> Output | None:
    """The output of *feeder*; None if it is not known."""
    read = _READERS.get((feeder.program.text if feeder.program else None) or "")
    redirections = [one.form for one in feeder.redirections if one.form != _QUIET]
    if read is None or redirections or feeder.assignments or not feeder.folders:
        return None
    return read(feeder.words[1:], feeder.folders)


def pipeline_output(commands: Sequence[Command]) -> Output | None:
    """The output of a pipeline in which the first command prints names and the others drop or reorder lines; None if unknown.

    Args:
        commands: The commands of the pipeline, at least one.
    """
    printed = known_output(commands[0])
    if printed is None or not commands[1:]:
        return printed
    drops = filters_null_names if printed.is_null else filters_lines
    is_whole = not printed.lines and all(map(drops, commands[1:]))
    return printed if is_whole else None


def filters_lines(command: Command) -> bool:
    """Whether *command* prints only lines of its input, each of them unchanged.

    Source: coreutils 9.1; grep(1) of grep 3.8.
    """
    if command.assignments or any(one.form != _QUIET for one in command.redirections):
        return False
    texts = [word.text or "" for word in command.words]
    if not all(word.is_literal for word in command.words) or not texts:
        return False
    if texts[0] == "xargs":
        return _keeps_matching(texts[1:])
    if texts[0] in _PATTERN_FILTERS:
        return len(texts) > 1 and bool(texts[-1]) and _is_pattern(texts[1:])
    known = _LINE_FILTERS.get(texts[0])
    return known is not None and known.fullmatch(" ".join(texts[1:])) is not None


def _keeps_matching(texts: Sequence[str]) -> bool:
    """Whether the arguments *texts* of `xargs` make grep print the names, among those that it gets, of the matching files."""
    texts = texts[texts[:1] == ["-r"] :]
    options = texts[1:-1]
    lists = texts[:1] and texts[0] in _PATTERN_FILTERS and not {"l", "L"}.isdisjoint("".join(options))
    return bool(lists) and all(map(_LISTS_MATCHING.fullmatch, options)) and texts[-1][:1] not in {"", "-"}


def filters_null_names(command: Command) -> bool:
    """Whether *command* prints only names of its input, where each name ends with a NUL byte."""
    texts = [word.text or "" for word in command.words]
    if command.assignments or command.redirections or not all(word.is_literal for word in command.words) or not texts:
        return False
    known = _NULL_FILTERS.get(texts[0])
    return known is not None and known.fullmatch(" ".join(texts[1:])) is not None


def _is_pattern(texts: Sequence[str]) -> bool:
    """Whether the arguments *texts* of `grep` are options and one pattern, without a file."""
    *options, pattern = texts
    if any(one.endswith("e") for one in options[:-1]) or not all(map(_PATTERN_OPTIONS.fullmatch, options)):
        return False
    return not pattern.startswith("-") or "".join(options[-1:]).endswith("e")


def _glob_word(pattern: str, prefix: str) -> Word:
    return Word("", pattern=pattern, prefix=prefix, splits=True)


def _plain_paths(words: Sequence[Word]) -> list[str] | None:
    """The texts of *words*, if all are plain paths."""
    texts = [word.text for word in words if word.text is not None and _POINT.fullmatch(word.text)]
    return texts if len(texts) == len(words) <= _MAX_POINTS else None


# find -----------------------------------------------------------------------------------------------------------------


def _find(words: Sequence[Word], folders: tuple[str, ...]) -> Output | None:
    start = next((place for place, word in enumerate(words) if (word.text or "-")[0] in "-(!,"), len(words))
    points = _plain_paths(words[:start])
    prints, tests = _parse_find_tests(words[start:])
    if points is None or tests is None or len(set(prints)) > 1:
        return None
    # A name is printed without regard to the tests behind the action that prints.
    is_last = len(prints) == 1 and words[-1].text == prints[0]
    # Without an action that prints, find also prints the names that only the tests before `-o` accept.
    is_last = is_last or (not prints and {"-o", "-or"}.isdisjoint(word.text for word in words[start:]))
    tail = pattern_tail(words[start:], tests) if is_last else "/**"
    is_null = "-print0" in prints
    points = points or [_HERE]
    found = tuple(_glob_word(f"{path_checks.escape_glob(point).rstrip('/')}{tail}" or "/", point) for point in points)
    name = pattern_tail(words[start:], {"-name": tests.get("-name")}).rpartition("/")[2] if is_last else "**"
    listings = () if is_null else tuple(ListedNames(point, folders, name=name.removeprefix("**")) for point in points)
    return Output(found, listings, is_null)


def _parse_find_tests(words: Sequence[Word]) -> tuple[list[str], dict[str, str | None] | None]:
    """The printing actions of a find expression, and its tests with their values; None in place of these if it does more."""
    rest = iter(words)
    prints: list[str] = []
    tests: dict[str, str | None] = {}
    for word in rest:
        name = word.text or ""
        if name in _FIND_PRINTS:
            prints.append(name)
        elif name in _FIND_TESTS:
            value = next(rest, None)
            if value is None or value.text is None:
                return prints, None
            tests[name] = value.text
        elif name not in _FIND_FLAGS:
            return prints, None
    return prints, tests


# ls, grep, rg, git ----------------------------------------------------------------------------------------------------


def _ls(words: Sequence[Word], folders: tuple[str, ...]) -> Output | None:
    options, operands = _split_options(words, _LS_OPTIONS)
    if operands is None:
        return None
    if not operands:
        if any("d" in one for one in options):
            return None
        return Output((_glob_word("*", ""),), (ListedNames(_HERE, folders, "in", is_bare=True),))
    # For a folder, ls would print the names in it.
    return _matches(operands, folders, "matches" if any("d" in one for one in options) else "files")


def _split_options(words: Sequence[Word], known: re.Pattern[str]) -> tuple[list[str], list[Word] | None]:
    """The leading options and the operands of *words*; None in place of the operands if an option is not *known*."""
    options: list[str] = []
    for place, word in enumerate(words):
        text = word.text
        if text is None or not text.startswith("-"):
            rest = list(words[place:])
            return options, None if any((one.text or one.prefix).startswith("-") for one in rest) else rest
        if not known.fullmatch(text):
            return options, None
        options.append(text)
    return options, []


def _matches(words: Sequence[Word], folders: tuple[str, ...], kind: str, *, is_null: bool = False) -> Output | None:
    """The names that *words*, literals or globs, match."""
    patterns = [path_checks.escape_glob(word.text) if word.text is not None else word.pattern or "" for word in words]
    if len(patterns) > _MAX_POINTS or not all(map(_GLOB.fullmatch, patterns)):
        return None
    found = tuple(_glob_word(pattern, word.prefix) for pattern, word in zip(patterns, words, strict=True))
    return Output(
        found, tuple(ListedNames(one, folders, kind, is_bare=True, is_split=not is_null) for one in patterns), is_null
    )


def _grep(words: Sequence[Word], folders: tuple[str, ...]) -> Output | None:
    # These options choose the files to search, at any position.
    chosen = (
        [] if any(word.text == "--" for word in words) else [one for one in words if _CHOOSES.match(one.text or "")]
    )
    options, operands = _split_options([*chosen, *(one for one in words if one not in chosen)], _GREP_OPTIONS)
    letters = "".join(one for one in options if not one.startswith("--"))
    if not operands or operands[0].text is None or {"l", "L"}.isdisjoint(letters):
        return None
    if "r" in letters:
        return _files_below(operands[1:], folders, is_null="Z" in letters)
    return _matches(operands[1:], folders, "matches", is_null="Z" in letters) if operands[1:] else None


def _rg(words: Sequence[Word], folders: tuple[str, ...]) -> Output | None:
    words = _drop_pairs(words, _RG_PAIRS)
    options, operands = _split_options(words, _RG_OPTIONS)
    letters = "".join(one for one in options if not one.startswith("--"))
    if operands is None:
        return None
    if "--files" not in options:
        if "l" not in letters or not operands or operands[0].text is None:
            return None
        operands = operands[1:]
    return _files_below(operands, folders, is_null="0" in letters)


def _drop_pairs(words: Sequence[Word], known: frozenset[str]) -> list[Word]:
    """*words* without the options in *known* and their values: they only choose which names are printed."""
    rest = iter(words)
    left: list[Word] = []
    for word in rest:
        if word.text == "--":
            return [*left, word, *rest]
        if word.text not in known:
            left.append(word)
        elif (value := next(rest, None)) is None or value.text is None:
            return [*left, word]
    return left


def _fd(words: Sequence[Word], folders: tuple[str, ...]) -> Output | None:
    """Names below folders, including links."""
    _, operands = _split_options(_drop_pairs(words, _FD_PAIRS), _FD_OPTIONS)
    if operands is None or any(one.text is None for one in operands[:1]):
        return None
    points = _plain_paths(operands[1:])
    if points is None:
        return None
    if not points:
        return Output((_glob_word("./**", ""),), (ListedNames(_HERE, folders, is_bare=True),))
    found = tuple(_glob_word(f"{path_checks.escape_glob(point).rstrip('/')}/**", point) for point in points)
    return Output(found, tuple(ListedNames(point, folders) for point in points))


def _files_below(words: Sequence[Word], folders: tuple[str, ...], *, is_null: bool) -> Output | None:
    """Files below the folders *words*, without links."""
    points = _plain_paths(words)
    if points is None:
        return None
    if not points:
        here = ListedNames(_HERE, folders, is_bare=True, is_split=not is_null)
        return Output((_glob_word(_HERE, ""),), (here,), is_null)
    listings = () if is_null else tuple(ListedNames(point, folders) for point in points)
    return Output(tuple(_glob_word(path_checks.escape_glob(point), point) for point in points), listings, is_null)


def _git(words: Sequence[Word], folders: tuple[str, ...]) -> Output | None:
    texts = [word.text or word.pattern or "-" for word in words]
    if texts[:1] == ["diff"]:
        return _git_changed_files(texts[1:], folders)
    if texts[:1] == ["grep"]:
        return _git_grep_files(texts[1:], folders)
    if texts[:1] in (["log"], ["rev-list"]):
        whose = name_listings.names_printed_by(["git", *texts])
        return Output((Word("", splits=True, named_by=whose),)) if whose else None
    is_null = texts[1:2] == ["-z"]
    specs = texts[1 + is_null :]
    specs = specs[1:] if specs[:1] == ["--"] else specs
    if texts[:1] != ["ls-files"] or not all(_SPEC.fullmatch(one) and ".." not in one for one in specs):
        return None
    listed = ListedNames(_HERE, folders, "index", is_bare=True, is_split=not is_null)
    return Output((_glob_word(_HERE, ""),), (listed,), is_null)


def _docker(words: Sequence[Word], _: tuple[str, ...]) -> Output | None:
    """Names of containers and images: no paths, and no options."""
    texts = [word.text for word in words if word.text is not None]
    whose = name_listings.names_printed_by(["docker", *texts]) if len(texts) == len(words) else ""
    return Output((Word("", splits=True, named_by=whose),)) if whose else None


def _git_grep_files(texts: Sequence[str], folders: tuple[str, ...]) -> Output | None:
    """The output of `git grep -l PATTERN`: names of tracked files."""
    end = texts.index("--") if "--" in texts else len(texts)
    options = [one for one in texts[:end] if one.startswith("-")]
    is_known = bool(options) and all(_GREP_OPTION.fullmatch(one) for one in options)
    # A second word may be a revision; then each printed name begins with it.
    if not is_known or "l" not in "".join(options) or len(options) + 1 != end:
        return None
    if folders != (_HERE,) or not all(_SPEC.fullmatch(one) and ".." not in one for one in texts[end + 1 :]):
        return None
    return Output((_glob_word(_HERE, ""),), (ListedNames(_HERE, folders, "index", is_bare=True),))


def _git_changed_files(texts: Sequence[str], folders: tuple[str, ...]) -> Output | None:
    """The output of `git diff --name-only` if it holds only tracked files: it runs at the top and lists no deleted file."""
    end = texts.index("--") if "--" in texts else len(texts)
    options = [one for one in texts[:end] if one.startswith("-")]
    revisions = [one for one in texts[:end] if not one.startswith("-")]
    filters = [one.partition("=")[2] for one in options if one.startswith("--diff-filter=")]
    is_known = all(one in _DIFF_OPTIONS or _KINDS.fullmatch(one) for one in options) and "--name-only" in options
    # A revision may hold names that are not in the index: files that were deleted since.
    is_old = bool(revisions) or not {"--cached", "--staged"}.isdisjoint(options)
    if not is_known or folders != (_HERE,) or len(revisions) > 1 or not all(map(_REVISION.fullmatch, revisions)):
        return None
    if not all(_SPEC.fullmatch(one) and ".." not in one for one in texts[end + 1 :]):
        return None
    if is_old and not (len(filters) == 1 and ("d" in filters[0] or (filters[0].isupper() and "D" not in filters[0]))):
        return None
    return Output((_glob_word(_HERE, ""),), (ListedNames(_HERE, folders, "index", is_bare=True),))


# echo, printf ---------------------------------------------------------------------------------------------------------


def _echo(words: Sequence[Word], _: tuple[str, ...]) -> Output | None:
    texts = _literal_texts(words)
    return None if texts is None else _literal_output(texts, (" ".join(texts),))


def _printf(words: Sequence[Word], folders: tuple[str, ...]) -> Output | None:
    form, texts = words[0].text if words else None, _literal_texts(words[1:])
    if form not in {"%s\\n", "%s\\0"}:
        return None
    if any(word.pattern is not None for word in words[1:]):
        return _matches(words[1:], folders, "matches", is_null=form == "%s\\0")
    return None if texts is None else _literal_output(texts, texts)._replace(is_null=form == "%s\\0")


def _literal_texts(words: Sequence[Word]) -> tuple[str, ...] | None:
    texts = tuple(word.text or "" for word in words)
    return texts if texts and texts[0][:1] != "-" and all(map(_LITERAL.fullmatch, texts)) else None


def _literal_output(texts: tuple[str, ...], lines: tuple[str, ...]) -> Output:
    return Output(tuple(Word("", text, prefix=text) for text in texts), lines=lines)


_READERS: Final[dict[str, Callable[[Sequence[Word], tuple[str, ...]], Output | None]]] = {
    "find": _find,
    "ls": _ls,
    "grep": _grep,
    "rg": _rg,
    "fd": _fd,
    "git": _git,
    "docker": _docker,
    "echo": _echo,
    "printf": _printf,
}
