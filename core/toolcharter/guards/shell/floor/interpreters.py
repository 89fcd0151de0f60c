"""Shells, interpreters and programs that pass text to them: remote code and eval injection."""

from collections.abc import Iterator

from toolcharter.guards.shell.floor import code_patterns
from toolcharter.guards.shell.floor.context import Call, Scene
from toolcharter.guards.shell.floor.data_sources import (
    SHELLS,
    code_word,
    fed_texts,
    has_code,
    language,
    prints_settings,
    reads_code,
    reads_code_file,
    tainted,
)
from toolcharter.guards.shell.floor.installs import module
from toolcharter.guards.shell.floor.reverse_shells import listens
from toolcharter.guards.shell.floor.word_texts import Arg, readings
from toolcharter.guards.shell.nodes import Command, Word
from toolcharter.guards.shell.programs.launchers import text_of

EVALUATES = "evaluates text as code"
_MAX_SOURCE = 10_000
_LONG_CODE = frozenset({"--eval", "--print", "--run", "--execute", "eval"})
_AWKS = frozenset({"awk", "gawk", "mawk", "nawk"})
_MODULES = frozenset({"child_process", "node:child_process"})
_FIND_STARTS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_AWK_FILES = frozenset({"-f", "--file", "-E", "--exec"})


def shell(call: Call, scene: Scene) -> str | None:
    """`sh -c TEXT`, and a shell that reads its source."""
    if reads_code(call):
        return listens(call, scene) or _of_fed_texts(call, scene) or tainted(scene.stdin_from(call))
    word = code_word(call)
    if word is None:
        # `xargs sh -c`: the source is what xargs reads.
        return tainted(scene.stdin_from(call)) if has_code(call) else None
    if _is_fed(word, call) and (why := tainted(scene.stdin_from(call))):
        return why
    return of_words(call, scene, (_with_parameters(word, call),))


def _is_fed(word: Word, call: Call) -> bool:
    """Whether the input becomes part of the source."""
    by_xargs = "xargs" in call.starters or "xargs" in call.command.within
    return word.text is None or "{}" in word.text or (by_xargs and " " not in word.text)


def _with_parameters(word: Word, call: Call) -> Word:
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


def _of_fed_texts(call: Call, scene: Scene) -> str | None:
    for one in call.command.redirections:
        if one.operator == "<<<" and one.target is not None and _is_unknown(one.target):
            return EVALUATES
    if any(
        one.name in {"echo", "printf"} and any(map(_is_unknown, one.command.words[-1:]))
        for one in scene.stdin_from(call)
    ):
        return EVALUATES
    return next((why for text in fed_texts(call, scene) if (why := scene.of_text(text))), None)


def of_words(call: Call, scene: Scene, words: tuple[Word, ...]) -> str | None:
    """Why the shell source that consists of *words* is catastrophic."""
    if all(word.text is not None for word in words):
        return scene.of_text(" ".join(word.text or "" for word in words))
    why = tainted(scene.substitutes(call))
    if why or any(map(_is_unknown, words[:1])):
        return why or EVALUATES
    texts = [" ".join(_likely(word, scene) for word in words), *(hint for word in words for hint in word.hints)]
    return next((why for text in texts if (why := scene.of_text(text))), None)


def _is_unknown(word: Word) -> bool:
    """Whether a text is completely unknown: one substitution, or one variable."""
    bare = word.form.strip('"')
    is_variable = bare[:1] == "$" and bare[1:].strip("{}[]@*!").replace("_", "a").isalnum()
    return word.text is None and not word.hints and (is_variable or bare in {"$@", "$*"} or _is_all_substituted(bare))


def _likely(word: Word, scene: Scene) -> str:
    return " ".join(arg.text for arg in readings(word, scene.places.home))


def _is_all_substituted(form: str) -> bool:
    bare = form.strip('"')
    return bare.startswith(("$(", "`")) and bare.endswith((")", "`"))


def evaluate(call: Call, scene: Scene) -> str | None:
    """`eval`: known text is checked as source; evaluating unknown text is catastrophic by itself."""
    words = tuple(word for word in call.command.words[1:] if word.text != "--")
    if all(word.text is not None for word in words):
        return scene.of_text(" ".join(word.text or "" for word in words))
    why = tainted(scene.substitutes(call)) or tainted(scene.stdin_from(call))
    if why is None and call.command.substitutes and prints_settings(_substituting(call, scene)):
        return None
    return why or EVALUATES


def _substituting(call: Call, scene: Scene) -> Iterator[Call]:
    for at in call.command.substitutes:
        yield from scene.chain(at)[:1]


def text(call: Call, scene: Scene) -> str | None:
    """`ssh host TEXT`, `su -c TEXT`, `watch TEXT`, `env -S TEXT`."""
    words = text_of(call.name, call.command)
    return of_words(call, scene, words) if words else None


def found(call: Call, _scene: Scene) -> str | None:
    """`find -exec sh -c {}`: it would run the names of files as code."""
    words = [word.form for word in call.command.words]
    for at, text in enumerate(words[:-3]):
        name = words[at + 1].rpartition("/")[2]
        if text in _FIND_STARTS and name in SHELLS and words[at + 2 : at + 4] in (["-c", "{}"], ["-c", "'{}'"]):
            return EVALUATES
    return None


def trap(call: Call, scene: Scene) -> str | None:
    """`trap TEXT SIGNAL`."""
    return of_words(call, scene, call.command.words[1:2]) if len(call.args) > 1 else None


def fed_lines(call: Call, scene: Scene) -> str | None:
    """`at`, `batch`, `parallel`: they run their input."""
    if call.name == "parallel" and len([arg for arg in call.args if arg.text[:1] != "-"]) > 0:
        return None
    return tainted(scene.stdin_from(call)) or _of_fed_texts(call, scene)


def timetable(call: Call, scene: Scene) -> str | None:
    """`crontab -`: it installs the commands in its input."""
    if (why := tainted(scene.stdin_from(call))) is not None and "-l" not in call.texts:
        return why
    return next((why for source in fed_texts(call, scene) if (why := of_timetable(scene, source))), None)


def of_timetable(scene: Scene, source: str) -> str | None:
    """Why a line of a crontab is catastrophic; in the system's crontabs, the name of a user precedes the command."""
    for line in source.splitlines():
        fields = line.split(None, 1 if line.startswith("@") else 5)
        for command in [fields[-1], fields[-1].partition(" ")[2]] if fields else []:
            if command and (why := scene.of_text(command)):
                return why
    return None


def program(command: Command, scene: Scene) -> str | None:
    """A program whose name is substituted: `$(curl ...)`, `` `base64 -d x` ``."""
    call = Call("", command, "")
    return tainted(scene.substitutes(call)) if _is_all_substituted(command.words[0].form) else None


def interpreter(call: Call, scene: Scene) -> str | None:
    """Python and other interpreters: code among the words, code from the input, modules that install."""
    spoken = language(call.name)
    if reads_code(call) or (spoken in _AWKS and reads_code_file(call, _AWK_FILES)):
        return (
            listens(call, scene)
            or tainted(scene.stdin_from(call))
            or next((why for text in fed_texts(call, scene) if (why := of_code(call, scene, spoken, text))), None)
        )
    if spoken in _AWKS and (why := _of_awk_input(call, scene)) is not None:
        return why
    for word in _code_words(call, spoken):
        if (why := _of_code_word(call, scene, spoken, word)) is not None:
            return why
    return module(call, scene) if spoken == "python" else None


def _of_awk_input(call: Call, scene: Scene) -> str | None:
    """`curl ... | awk '{system($0)}'`."""
    if any(code_patterns.runs_input(text) for text in call.texts):
        return tainted(scene.stdin_from(call), only_network=True)
    return None


def _of_code_word(call: Call, scene: Scene, spoken: str, word: Word) -> str | None:
    if word.text is not None:
        return of_code(call, scene, spoken, word.text)
    why = tainted(scene.substitutes(call))
    if why or _is_all_substituted(word.form) or _is_unknown(word):
        return why or EVALUATES
    return next(
        (why for arg in readings(word, scene.places.home) if (why := of_code(call, scene, spoken, arg.text))), None
    )


def _code_words(call: Call, spoken: str) -> Iterator[Word]:
    if spoken in _AWKS:
        yield from (word for word in call.command.words[1:] if " " in word.form or "{" in word.form)
        return
    words = call.command.words
    for at, word in enumerate(words[1:], 1):
        text = word.text or word.prefix
        if text in _LONG_CODE:
            yield from words[at + 1 : at + 2]
        elif text.startswith("--") and text.partition("=")[0] in _LONG_CODE:
            yield Word(word.form, text.partition("=")[2])
    value = code_word(call)
    if value is not None:
        yield value


def of_code(call: Call, scene: Scene, spoken: str, source: str) -> str | None:
    """Why an interpreter's code is catastrophic: by itself, by the files that it deletes, or by the lines that it runs."""
    why = code_patterns.reason_of(spoken, source)
    if why:
        return why
    texts = code_patterns.texts_in(source)
    if code_patterns.deletes(source) and (why := _deleted(call, scene, source, texts)):
        return f"deletes {why}"
    if code_patterns.writes(source) and (why := _written(call, scene, texts)):
        return f"overwrites {why}"
    return _started(scene, source, texts) if code_patterns.runs(source) else None


def _deleted(call: Call, scene: Scene, source: str, texts: list[str]) -> str | None:
    if code_patterns.names_home(source) and not any("/" in text.strip("~/") for text in texts):
        return "a home folder"
    paths = (scene.places.home + text[1:] if text.startswith("~") else text for text in texts)
    return next((why for path in paths if path and (why := scene.loss(call, Arg(path, is_fixed=False)))), None)


def _written(call: Call, scene: Scene, texts: list[str]) -> str | None:
    vital = (arg for text in texts if (arg := Arg(text.lstrip("<>+| "))).text.startswith("/"))
    return next((why for arg in vital if (why := scene.disk(call, arg) or _switch(scene, call, arg))), None)


def _switch(scene: Scene, call: Call, arg: Arg) -> str | None:
    why = scene.vital_file(call, arg)
    return why if why and "kernel" in why else None


def _started(scene: Scene, source: str, texts: list[str]) -> str | None:
    texts = [text for text in texts if text not in _MODULES]
    is_list = any(opening in source for opening in ("['", '["', "[ '", '[ "', "('rm',", '("rm",', "('rm'", '("rm"'))
    lines = [" ".join(texts)] if is_list else [*texts, " ".join(texts)]
    bare = (line.strip("| ") for line in lines)
    return next((why for line in bare if line and (why := scene.of_text(line))), None)
