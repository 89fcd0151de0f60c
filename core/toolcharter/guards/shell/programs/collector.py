"""Collects the requirements of one command, word by word, according to each word's role in the table of the program."""

import re
from collections.abc import Callable, Sequence
from posixpath import normpath, splitext
from typing import Final

from toolcharter.api.command import PathAccess, Requirement
from toolcharter.guards.shell import languages, path_checks
from toolcharter.guards.shell.assignments import assignment_violation as assignment_objection
from toolcharter.guards.shell.nodes import CHECKED_NAME, PROCESS_SUBSTITUTION, TEMP_FILE, Assignment, Inner, Word
from toolcharter.guards.shell.programs import outputs
from toolcharter.guards.shell.programs.table import Role
from toolcharter.guards.shell.programs.unknown import collect_paths

INPUT_WORD: Final = Word("(input)", splits=True, is_output=True)
"""The word in place of those that a program such as xargs reads and adds to the command that it starts."""
_MAX_FOLDERS: Final = 8
_OPENED_BY_LINE: Final = frozenset({PROCESS_SUBSTITUTION, TEMP_FILE})  # by the line itself
# Letters, digits and characters of globs: with others, hg and jj write sets of files, lists of them and operators.
_PLAIN_PATH: Final = re.compile(r"[\w./+,@%*?\[\]\\ -]*")
_NO_FILES: Final = frozenset({"-", "/dev/null"})
_RUN_BY_PYTEST: Final = frozenset({".py", ".txt", ".rst", ".md"})
_ACCEPT_OUTPUT: Final = frozenset({"said", "shown"})
"""Roles whose words may hold the output of other commands."""
_PLAIN_TEXTS: Final = frozenset({"text", "said", "shown"})


class RequirementCollector:
    """Collects the requirements of one command. `toolcharter.guards.shell.programs.requirements` makes one for each `read_command`."""

    def __init__(self, folders: tuple[str, ...], workspace: str) -> None:
        self.folders = folders
        """The folders that paths may be relative to: those the command runs in, and those its own options change to."""
        self.workspace = workspace
        self.needs: list[Requirement] = []
        self.reaches: list[PathAccess] = []
        self.inner: list[Inner] = []
        self.scripts: list[Word] = []
        self.assignments: list[Assignment] = []
        self.given_options: frozenset[str] = frozenset()
        """The options that were given, of the table that was read last."""
        self.link_targets: list[Word] = []
        """The words that links will lead to."""
        self.destinations: list[Word] = []
        """The words that say where the program creates files."""
        self.kept: list[Word] = []
        """Words that the program stores and that hold output of other commands of the line."""
        self.placeholder: str | None = None
        """The text that the input's words replace, if an option sets one, such as `{}`."""
        self.subcommand_index: int | None = None
        """How many words precede the program's subcommand, once it is found."""
        self.started_command: Sequence[Word] = ()
        """A command that the program starts, whose requirements become its own."""
        self._initial_folders = folders
        self._changed_folders: tuple[str, ...] | None = None

    def require(self, word: Word, why: str) -> None:
        """Require that a rule mentions *word*, for the reason *why*."""
        self.needs.append(Requirement(word.form, f"{word.form} {why}"))

    def add_operand(self, role: Role, word: Word, *, may_repeat: bool = False) -> None:
        """Collect the operand *word*; with *may_repeat*, several words in its place would mean the same."""
        if role.needs_mention:
            self.require(word, "is nothing that its program ordinarily does")
        if role.kind == "write":
            self.require(word, "is a file that is written")
        if may_repeat and word is INPUT_WORD and role.kind == "shown":
            return
        self.add_value(role, word, may_repeat=may_repeat)

    def add_value(self, role: Role, word: Word, *, may_repeat: bool = False) -> None:
        """Collect *word*, the value of an option or an operand."""
        if role.kind == "chdir" and word.is_repository_top:
            word = Word(word.form, self.workspace, prefix=self.workspace)
        if word.text is None and word.pattern is None:
            is_one = not word.splits or (may_repeat and role.is_repeatable)
            if word.named_by and is_one and word.is_name_for(role.kind, role.argument):
                self._check_commit_path(word)  # This is the only role that accepts names with a path behind a colon.
                return
            if word.is_shown and role.kind == "shown":
                return
            if role.kind not in _ACCEPT_OUTPUT or not word.is_output or word.splits:
                self._require_unknown(role, word)
            elif role.kind == "said":
                self.kept.append(word)
        elif word.is_number and word.pattern and not word.splits and (role.kind == "number" or role.argument == "task"):
            return
        elif word.text is None and not (role.is_repeatable and (may_repeat or not word.splits)):
            self.require(word, "may become other words than one")
        elif role.kind not in _PLAIN_TEXTS or word.text is None:
            _HANDLERS[role.kind](self, role, word)

    def _require_unknown(self, role: Role, word: Word) -> None:
        if role.kind == "script":
            self.scripts.append(word)
        elif role.kind == "chdir":
            self.folders = self._changed_folders = ()
        self.require(word, "cannot be determined")

    def add_path(self, word: Word) -> bool:
        """Collect the path *word*, which a rule has to mention if it may lead outside; whether it stays in the workspace."""
        path, is_pattern = (word.pattern or "", True) if word.text is None else (word.text, False)
        why = path_checks.path_violation(path, self.folders, self.workspace, is_pattern=is_pattern)
        if why:
            self.require(word, why)
        elif path and path not in path_checks.STREAMS:
            self.reaches.append(PathAccess(path, is_pattern, self.folders))
        return why is None

    def add_command(self, words: Sequence[Word], *, appends: bool = False) -> None:
        """Collect *words* as an inner command; with *appends*, the program adds further, unknown words to it."""
        if not words:
            return
        words = tuple(words)
        if self.placeholder is not None:
            words = tuple(_without_placeholder(word, self.placeholder) for word in words)
        elif appends:
            words = (*words, INPUT_WORD)
        self.inner.append(Inner(words, tuple(self.assignments), self._changed_folders))

    def add_required_command(self, words: Sequence[Word]) -> None:
        """Collect *words* as an inner command of which a rule has to mention the program and all that it requires."""
        self.require(words[0], "is the program that is started")
        self.inner.append(Inner(tuple(words), tuple(self.assignments), self._changed_folders, is_asked_for=True))
        self.started_command = words

    def add_source_or_command(self, words: Sequence[Word]) -> None:
        """Collect *words* as an inner command, or as `-c` and shell source."""
        if words[0].text not in {"-c", "--command"}:
            self.add_command(words)
            return
        self.require(words[0], "is an option that a rule has to mention")
        for place, word in enumerate(words[1:]):
            if place:
                self.require(word, "is more than its program takes")
            else:
                self.add_value(Role("script"), word)

    def add_joined_source(self, source: Word, words: Sequence[Word]) -> None:
        """Collect the shell source *source*, to whose last command *words* are appended."""
        self.add_source([source, *(word if word.text is None else word._replace(text=word.form) for word in words)])

    def add_source(self, words: Sequence[Word]) -> None:
        """Collect *words*, joined by blanks, as shell source, as for `eval`."""
        form = " ".join(word.form for word in words)
        texts = [word.text for word in words if word.text is not None]
        text = " ".join(texts) if len(texts) == len(words) else None
        for word in words:
            if word.text is None:
                self.require(word, "cannot be determined")
        self.scripts.append(Word(form, text, prefix=text or ""))

    def take_read(self, _: Role, word: Word) -> None:
        """Collect a path that the program reads; `-` is the standard input, and a process substitution is input, too."""
        if word.text != "-" and word.pattern not in _OPENED_BY_LINE:
            self.add_path(word)

    def take_object(self, role: Role, word: Word) -> None:
        """Collect a path or a revision. For a path behind a colon that is not in the commit, git looks at the disk."""
        if role.argument == "git":
            self._check_commit_path(word)
        self.take_read(role, word)

    def _check_commit_path(self, word: Word) -> None:
        path = path_checks.path_in_revision(word.form.replace('"', "") if word.text is None else word.text)
        why = path_checks.path_violation(path, self.folders, self.workspace) if path else None
        if why:
            self.require(word, why)

    def take_said(self, _: Role, word: Word) -> None:
        """Collect text that the program prints or stores. If it is a glob, the folder that the shell lists matters."""
        pattern = word.pattern or ""
        if "**" in pattern or pattern in _OPENED_BY_LINE:
            # find gives these names, not the shell.
            self.take_read(_, word)
            return
        why = path_checks.path_violation(pattern, self.folders, self.workspace, is_pattern=True)
        folder = pattern.rpartition("/")[0]
        if why:
            self.require(word, why)
        elif folder:
            path = folder if folder.startswith("/") else f"./{folder}"
            self.reaches.append(PathAccess(path, is_pattern=True, folders=self.folders))

    def take_local(self, role: Role, word: Word) -> None:
        """Collect a path. With a colon before any slash, or as `github.com`, it names a file of another machine.

        Source: docker-build(1), "PATH | URL"; kustomize, "Remote resources": both fetch `github.com/OWNER/NAME`.
        """
        first = (word.text or "").partition("/")[0]
        if ":" in first or first.lower() == "github.com":
            self.require(word, "may lie on another machine")
        self.take_read(role, word)

    def take_plain(self, role: Role, word: Word) -> None:
        """Collect a path that may only hold plain characters; other characters may make it more: `listfile:x`, `a|b`."""
        if not _PLAIN_PATH.fullmatch((word.pattern if word.text is None else word.text) or ""):
            self.require(word, "may be more than a path")
        self.take_read(role, word)

    def take_trusted(self, role: Role, word: Word) -> None:
        """Collect a file whose content can run programs; a rule has to mention it."""
        self.require(word, "is a file whose content can run programs")
        self.take_local(role, word)

    def take_mount(self, _: Role, word: Word) -> None:
        """Collect a mount of a container: a path of the host, which the container may write to, or the name of a volume.

        Source: docker-run(1), `--volume` and `--mount`.
        """
        text = word.text or ""
        if '"' in text:
            self.require(word, "may be a mount of anything")  # `--mount` takes values of CSV.
        given = (part.partition("=") for part in text.split(","))
        named = [value for key, equals, value in given if equals and key.strip().lower() in {"source", "src"}]
        for source in named or [text.partition(":")[0] if ":" in text else ""]:
            if "/" in source or source[:1] in {".", "~"}:
                self.take_change(Role("into"), word._replace(text=source, prefix=source))

    def take_message(self, _: Role, word: Word) -> None:
        """Collect a file whose text the program stores, without masking of secrets. `-` is the standard input."""
        if word.text == "-":
            self.kept.append(word)
        else:
            self.require(word, "is a file whose text is kept")

    def take_node(self, role: Role, word: Word) -> None:
        """Collect a path with `::` and the name of a part of that file behind it."""
        path = (word.text or "").partition("::")[0]
        self.take_read(role, word if word.text is None else Word(word.form, path, prefix=path))

    def take_tests(self, role: Role, word: Word) -> None:
        """Collect a node of pytest: a folder, or a file with a test's name.

        pytest also imports any other Python file that is named, and runs the examples in any other text file.
        """
        path = ((word.pattern if word.text is None else word.text) or "").partition("[")[0].partition("::")[0]
        stem, suffix = splitext(normpath(path).rpartition("/")[2])
        may_run = word.text is None or suffix.lower() in _RUN_BY_PYTEST
        if may_run and not (stem.startswith("test_") or stem.endswith("_test")):
            self.require(word, "may be a program that is no test")
        self.take_node(role, word if word.text is None else Word(word.form, path, prefix=path))

    def take_tree(self, role: Role, word: Word) -> None:
        """Collect a path that the program reads with all that lies below it, following links: `**` matches everything below."""
        before = len(self.reaches)
        self.take_read(role, word)
        for seen in self.reaches[before:]:
            # A folder that find finds may hold links of any name.
            below = seen.path.partition("/**")[0] if seen.is_pattern else path_checks.escape_glob(seen.path)
            self.reaches.append(PathAccess(f"{below.rstrip('/')}/**", is_pattern=True, folders=seen.folders))

    def take_folder(self, _: Role, word: Word) -> None:
        """Collect a folder. `-` would be the previous folder."""
        if word.text == "-":
            self.require(word, "is a folder that cannot be determined")
        else:
            self.add_path(word)

    def take_chdir(self, _: Role, word: Word) -> None:
        """Collect a folder to change to: later paths may be relative to it, or to the folder the command began in."""
        self.take_folder(_, word)
        begin = self._initial_folders if self._changed_folders is None else self._changed_folders
        self._changed_folders = path_checks.resolve_path(word.text or "", begin, self.workspace)
        folders = tuple(dict.fromkeys((*self.folders, *self._changed_folders)))
        # After a change to an unknown folder, every later path is unknown.
        if self.folders and self._changed_folders and len(folders) <= _MAX_FOLDERS:
            self.folders = folders
        else:
            self.folders = self._changed_folders = ()

    def take_change(self, role: Role, word: Word) -> None:
        """Collect a path that the program writes, creates or removes."""
        if word.pattern == TEMP_FILE and role.kind == "change":
            return
        path, is_pattern = (word.pattern or "", True) if word.text is None else (word.text, False)
        if role.kind == "into":
            self.destinations.append(word)
        if not self.add_path(word):
            return
        if self.reaches and path not in path_checks.STREAMS:
            self.reaches[-1] = self.reaches[-1]._replace(change=role.kind)
        if path in path_checks.STREAMS and role.kind != "write":
            self.require(word, "is a device")
        elif path_checks.is_protected(path, is_pattern=is_pattern) or any(map(path_checks.is_protected, self.folders)):
            self.require(word, "is protected")
        elif role.kind == "change" and path_checks.is_workspace_root(path, self.folders, self.workspace):
            self.require(word, "is the workspace itself")

    def take_made(self, role: Role, word: Word) -> None:
        """Collect the path of the program's output; a rule has to mention it unless its name is one for output."""
        if word.text in _NO_FILES:
            return
        why = outputs.objection(word.text or "", role.argument)
        if why:
            self.require(word, why)
        self.take_change(role, word)

    def take_target(self, _: Role, word: Word) -> None:
        """Collect the target of a link. Other words determine the folder that it is relative to."""
        self.link_targets.append(word)

    def take_number(self, _: Role, word: Word) -> None:
        """Collect a number, which has to be literal."""
        if not is_number(word.text or ""):
            self.require(word, "is no number")

    def take_only(self, role: Role, word: Word) -> None:
        """Collect a text, which has to be one of those that the table lists."""
        if word.text not in role.argument.split("|"):
            self.require(word, "is not among what is known to be harmless there")

    def take_name(self, _: Role, word: Word) -> None:
        """Collect a variable's name, possibly with a value. Bash would evaluate a subscript between brackets."""
        name = (word.text or "").partition("=")[0].removesuffix("+")
        if word.named_by != CHECKED_NAME and not (name.isascii() and name.isidentifier()):
            self.require(word, "is no plain name of a variable")

    def take_script(self, _: Role, word: Word) -> None:
        """Collect shell source."""
        self.scripts.append(word)

    def take_replace(self, _: Role, word: Word) -> None:
        """Collect the text that the input's words replace."""
        self.placeholder = word.text

    def take_assignment(self, _: Role, word: Word) -> None:
        """Collect `NAME=value` for the environment of the started command."""
        name, _equals, value = (word.text or "").partition("=")
        assignment = Assignment(name, Word(value, value, prefix=value), word.form)
        self.assignments.append(assignment)
        why = assignment_objection(assignment._replace(form=word.text or ""))
        if why:
            self.require(word, why)

    def take_format(self, role: Role, word: Word) -> None:
        """Collect a text in one of the languages of `languages`."""
        why = languages.find_objection(role.argument, word.text or "")
        if why:
            self.require(word, why)

    def take_passed(self, _: Role, word: Word) -> None:
        """Collect a word for an unknown program: if it looks like a path, the path has to lie in the workspace."""
        collect_paths(word, self)

    def take_named(self, _: Role, word: Word) -> None:
        """Collect a program or code, which a rule has to mention; its text says nothing more."""
        self.require(word, "is a program or code")


def is_number(text: str) -> bool:
    """Whether *text* is an integer in digits."""
    digits = text[1:] if text[:1] in {"-", "+"} else text
    return digits.isascii() and digits.isdigit()


def _without_placeholder(word: Word, placeholder: str) -> Word:
    if word.text is not None and placeholder in word.text:
        return Word(word.form, is_output=True)
    return word


_HANDLERS: Final[dict[str, Callable[[RequirementCollector, Role, Word], None]]] = {
    "text": RequirementCollector.take_read,
    "said": RequirementCollector.take_said,
    "shown": RequirementCollector.take_said,
    "message": RequirementCollector.take_message,
    "target": RequirementCollector.take_target,
    "read": RequirementCollector.take_read,
    "object": RequirementCollector.take_object,
    "local": RequirementCollector.take_local,
    "node": RequirementCollector.take_node,
    "tests": RequirementCollector.take_tests,
    "tree": RequirementCollector.take_tree,
    "name": RequirementCollector.take_name,
    "folder": RequirementCollector.take_folder,
    "chdir": RequirementCollector.take_chdir,
    "change": RequirementCollector.take_change,
    "into": RequirementCollector.take_change,
    "write": RequirementCollector.take_change,
    "made": RequirementCollector.take_made,
    "plain": RequirementCollector.take_plain,
    "trusted": RequirementCollector.take_trusted,
    "mount": RequirementCollector.take_mount,
    "number": RequirementCollector.take_number,
    "only": RequirementCollector.take_only,
    "script": RequirementCollector.take_script,
    "replace": RequirementCollector.take_replace,
    "assignment": RequirementCollector.take_assignment,
    "format": RequirementCollector.take_format,
    **dict.fromkeys(
        ("program", "code", "exec", "command", "source_or_command", "module", "run"),
        RequirementCollector.take_named,
    ),
    "passed": RequirementCollector.take_passed,
}
