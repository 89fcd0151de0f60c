"""Shells, interpreters and programs that pass text to them: remote code and eval injection."""

from collections.abc import Iterator

from toolcharter.guards.shell.floor import code_patterns
from toolcharter.guards.shell.floor.context import Call, Context
from toolcharter.guards.shell.floor.data_sources import (
    SHELLS,
    code_argument,
    find_taint,
    has_code_option,
    input_texts,
    print_shell_settings,
    reads_code,
    reads_code_from_option,
    without_version,
)
from toolcharter.guards.shell.floor.installs import check_pip_module
from toolcharter.guards.shell.floor.reverse_shells import check_network_feeders
from toolcharter.guards.shell.floor.word_texts import Arg, possible_texts
from toolcharter.guards.shell.nodes import Command, Word
from toolcharter.guards.shell.programs.launchers import source_words

EVALUATES_TEXT = "evaluates text as code"
_MAX_SOURCE = 10_000
_LONG_CODE = frozenset({"--eval", "--print", "--run", "--execute", "eval"})
_AWKS = frozenset({"awk", "gawk", "mawk", "nawk"})
_MODULES = frozenset({"child_process", "node:child_process"})
_FIND_EXEC = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_AWK_FILES = frozenset({"-f", "--file", "-E", "--exec"})


def check_shell(call: Call, context: Context) -> str | None:
    """`sh -c TEXT`, and a shell that reads its source."""
    if reads_code(call):
        return (
            check_network_feeders(call, context)
            or _check_input_texts(call, context)
            or find_taint(context.feeders(call))
        )
    word = code_argument(call)
    if word is None:
        # `xargs sh -c`: the source is what xargs reads.
        return find_taint(context.feeders(call)) if has_code_option(call) else None
    if _contains_input(word, call) and (why := find_taint(context.feeders(call))):
        return why
    return check_source_words(call, context, (_replace_parameters(word, call),))


def _contains_input(word: Word, call: Call) -> bool:
    """Whether the input becomes part of the source."""
    by_xargs = "xargs" in call.starters or "xargs" in call.command.within
    return word.text is None or "{}" in word.text or (by_xargs and " " not in word.text)


def _replace_parameters(word: Word, call: Call) -> Word:
    """The source with the words behind it in place of `$0`, `$1`, `$@`."""
    if word.text is None or "$" not in word.text or word not in call.command.words:
        return word
    given = [one.text or "" for one in call.command.words[call.command.words.index(word) + 1 :]][:10]
    source = word.text
    for at, text in enumerate(given):
        source = source.replace(f"${at}", text)
    for every in ("$@", "$*") if len(given) > 1 else ():
        source = source.replace(f'"{every}"', " ".join(given[1:])).replace(every, " ".join(given[1:]))
    return Word(word.form, source[:_MAX_SOURCE])


def _check_input_texts(call: Call, context: Context) -> str | None:
    for one in call.command.redirections:
        if one.operator == "<<<" and one.target is not None and _is_unknown(one.target):
            return EVALUATES_TEXT
    if any(
        one.name in {"echo", "printf"} and any(map(_is_unknown, one.command.words[-1:]))
        for one in context.feeders(call)
    ):
        return EVALUATES_TEXT
    return next((why for text in input_texts(call, context) if (why := context.check_source(text))), None)


def check_source_words(call: Call, context: Context, words: tuple[Word, ...]) -> str | None:
    """Why the shell source that consists of *words* is catastrophic."""
    if all(word.text is not None for word in words):
        return context.check_source(" ".join(word.text or "" for word in words))
    why = find_taint(context.substituted_calls(call))
    if why or any(map(_is_unknown, words[:1])):
        return why or EVALUATES_TEXT
    texts = [" ".join(_likely_text(word, context) for word in words), *(hint for word in words for hint in word.hints)]
    return next((why for text in texts if (why := context.check_source(text))), None)


def _is_unknown(word: Word) -> bool:
    """Whether a text is completely unknown: one substitution, or one variable."""
    bare = word.form.strip('"')
    is_variable = bare[:1] == "$" and bare[1:].strip("{}[]@*!").replace("_", "a").isalnum()
    return word.text is None and not word.hints and (is_variable or bare in {"$@", "$*"} or _is_all_substituted(bare))


def _likely_text(word: Word, context: Context) -> str:
    return " ".join(arg.text for arg in possible_texts(word, context.paths.home))


def _is_all_substituted(form: str) -> bool:
    bare = form.strip('"')
    return bare.startswith(("$(", "`")) and bare.endswith((")", "`"))


def check_eval(call: Call, context: Context) -> str | None:
    """`eval`: known text is checked as source; evaluating unknown text is catastrophic by itself."""
    words = tuple(word for word in call.command.words[1:] if word.text != "--")
    if all(word.text is not None for word in words):
        return context.check_source(" ".join(word.text or "" for word in words))
    why = find_taint(context.substituted_calls(call)) or find_taint(context.feeders(call))
    if why is None and call.command.substitutes and print_shell_settings(_substituting_calls(call, context)):
        return None
    return why or EVALUATES_TEXT


def _substituting_calls(call: Call, context: Context) -> Iterator[Call]:
    for at in call.command.substitutes:
        yield from context.calls_at(at)[:1]


def check_text(call: Call, context: Context) -> str | None:
    """`ssh host TEXT`, `su -c TEXT`, `watch TEXT`, `env -S TEXT`."""
    words = source_words(call.name, call.command)
    return check_source_words(call, context, words) if words else None


def check_find_exec(call: Call, _context: Context) -> str | None:
    """`find -exec sh -c {}`: it would run the names of files as code."""
    words = [word.form for word in call.command.words]
    for at, text in enumerate(words[:-3]):
        name = words[at + 1].rpartition("/")[2]
        if text in _FIND_EXEC and name in SHELLS and words[at + 2 : at + 4] in (["-c", "{}"], ["-c", "'{}'"]):
            return EVALUATES_TEXT
    return None


def check_trap(call: Call, context: Context) -> str | None:
    """`trap TEXT SIGNAL`."""
    return check_source_words(call, context, call.command.words[1:2]) if len(call.args) > 1 else None


def check_input_lines(call: Call, context: Context) -> str | None:
    """`at`, `batch`, `parallel`: they run their input."""
    if call.name == "parallel" and len([arg for arg in call.args if arg.text[:1] != "-"]) > 0:
        return None
    return find_taint(context.feeders(call)) or _check_input_texts(call, context)


def check_crontab(call: Call, context: Context) -> str | None:
    """`crontab -`: it installs the commands in its input."""
    if (why := find_taint(context.feeders(call))) is not None and "-l" not in call.texts:
        return why
    return next((why for source in input_texts(call, context) if (why := check_crontab_lines(context, source))), None)


def check_crontab_lines(context: Context, source: str) -> str | None:
    """Why a line of a crontab is catastrophic; in the system's crontabs, the name of a user precedes the command."""
    for line in source.splitlines():
        fields = line.split(None, 1 if line.startswith("@") else 5)
        for command in [fields[-1], fields[-1].partition(" ")[2]] if fields else []:
            if command and (why := context.check_source(command)):
                return why
    return None


def check_program_name(command: Command, context: Context) -> str | None:
    """A program whose name is substituted: `$(curl ...)`, `` `base64 -d x` ``."""
    call = Call("", command, "")
    return find_taint(context.substituted_calls(call)) if _is_all_substituted(command.words[0].form) else None


def check_interpreter(call: Call, context: Context) -> str | None:
    """Python and other interpreters: code among the words, code from the input, modules that install."""
    language = without_version(call.name)
    if reads_code(call) or (language in _AWKS and reads_code_from_option(call, _AWK_FILES)):
        return (
            check_network_feeders(call, context)
            or find_taint(context.feeders(call))
            or next(
                (why for text in input_texts(call, context) if (why := check_code(call, context, language, text))), None
            )
        )
    if language in _AWKS and (why := _check_awk_input(call, context)) is not None:
        return why
    for word in _code_words(call, language):
        if (why := _check_code_word(call, context, language, word)) is not None:
            return why
    return check_pip_module(call, context) if language == "python" else None


def _check_awk_input(call: Call, context: Context) -> str | None:
    """`curl ... | awk '{system($0)}'`."""
    if any(code_patterns.runs_its_input(text) for text in call.texts):
        return find_taint(context.feeders(call), only_network=True)
    return None


def _check_code_word(call: Call, context: Context, language: str, word: Word) -> str | None:
    if word.text is not None:
        return check_code(call, context, language, word.text)
    why = find_taint(context.substituted_calls(call))
    if why or _is_all_substituted(word.form) or _is_unknown(word):
        return why or EVALUATES_TEXT
    return next(
        (
            why
            for arg in possible_texts(word, context.paths.home)
            if (why := check_code(call, context, language, arg.text))
        ),
        None,
    )


def _code_words(call: Call, language: str) -> Iterator[Word]:
    if language in _AWKS:
        yield from (word for word in call.command.words[1:] if " " in word.form or "{" in word.form)
        return
    words = call.command.words
    for at, word in enumerate(words[1:], 1):
        text = word.text or word.prefix
        if text in _LONG_CODE:
            yield from words[at + 1 : at + 2]
        elif text.startswith("--") and text.partition("=")[0] in _LONG_CODE:
            yield Word(word.form, text.partition("=")[2])
    value = code_argument(call)
    if value is not None:
        yield value


def check_code(call: Call, context: Context, language: str, source: str) -> str | None:
    """Why an interpreter's code is catastrophic: by itself, by the files that it deletes, or by the lines that it runs."""
    why = code_patterns.find_reason(language, source)
    if why:
        return why
    texts = code_patterns.quoted_texts(source)
    if code_patterns.deletes_files(source) and (why := _check_deleted(call, context, source, texts)):
        return f"deletes {why}"
    if code_patterns.writes_files(source) and (why := _check_written(call, context, texts)):
        return f"overwrites {why}"
    return _check_started(context, source, texts) if code_patterns.starts_programs(source) else None


def _check_deleted(call: Call, context: Context, source: str, texts: list[str]) -> str | None:
    if code_patterns.names_home_folder(source) and not any("/" in text.strip("~/") for text in texts):
        return "a home folder"
    paths = (context.paths.home + text[1:] if text.startswith("~") else text for text in texts)
    return next((why for path in paths if path and (why := context.loss(call, Arg(path, is_fixed=False)))), None)


def _check_written(call: Call, context: Context, texts: list[str]) -> str | None:
    vital = (arg for text in texts if (arg := Arg(text.lstrip("<>+| "))).text.startswith("/"))
    return next((why for arg in vital if (why := context.disk(call, arg) or _kernel_file(context, call, arg))), None)


def _kernel_file(context: Context, call: Call, arg: Arg) -> str | None:
    why = context.vital_file(call, arg)
    return why if why and "kernel" in why else None


def _check_started(context: Context, source: str, texts: list[str]) -> str | None:
    texts = [text for text in texts if text not in _MODULES]
    is_list = any(opening in source for opening in ("['", '["', "[ '", '[ "', "('rm',", '("rm",', "('rm'", '("rm"'))
    lines = [" ".join(texts)] if is_list else [*texts, " ".join(texts)]
    bare = (line.strip("| ") for line in lines)
    return next((why for line in bare if line and (why := context.check_source(line))), None)
