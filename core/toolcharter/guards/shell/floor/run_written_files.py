"""Files that one part of a script writes and another part runs: a download, decoded text, text of the script itself."""

from collections.abc import Iterator
from itertools import pairwise
from posixpath import join

from toolcharter.guards.shell.floor.builds import check_build
from toolcharter.guards.shell.floor.context import Call, Context, base_name
from toolcharter.guards.shell.floor.data_sources import (
    FETCHERS,
    INTERPRETERS,
    SHELLS,
    STANDARD_INPUTS,
    input_texts,
    printed_text,
    without_version,
)
from toolcharter.guards.shell.floor.deletes import has_option
from toolcharter.guards.shell.floor.interpreters import check_code
from toolcharter.guards.shell.floor.run_later import check_readers, check_startup_files
from toolcharter.guards.shell.floor.written_files import ANY_FOLDER, WrittenFile, WrittenFiles, resolve_path
from toolcharter.guards.shell.nodes import Command, Word

_BINARY_DECODERS = frozenset({"base64", "base32", "basenc", "xxd", "uudecode", "openssl", "gbase64"})
_OUTPUTS = {
    "curl": ("-o", "--output"),
    "wget": ("-O", "--output-document"),
    "wget2": ("-O", "--output-document"),
    "aria2c": ("-o", "--out"),
    "axel": ("-o", "--output"),
    "http": ("-o", "--output"),
    "ftp": ("-o",),
}
_SHELL_VALUED = frozenset({"-o", "+o", "-O", "+O"})
_INSTALLERS = frozenset({"dpkg", "rpm", "apt", "apt-get", "yum", "dnf", "installer"})
_OUTPUT_NAMED_LAST = frozenset({"scp", "rsync", "certutil", "sftp", "tftp", "bitsadmin"})
_INPUT_WRITERS = frozenset({"tee", "gtee", "sponge", "dd", "gdd", "sort", "cp", "install", "uniq"})
"""Programs that write their input to a file that is an argument."""
_COPIERS = frozenset({"cp", "install", "uniq"})
_PASS_THROUGH = frozenset(
    {"cat", "tee", "head", "tail", "sort", "uniq", "sed", "yes", "jq", "nl", "fmt", "paste", "dd", "envsubst"}
)
_TRANSFORMERS = frozenset(
    {"rev", "tr", "base64", "xxd", "od", "fold", "cut", "tac", "gpg", "openssl", "rot13", "iconv"}
)
_NAMED_BY_URL = frozenset({"wget", "wget2", "aria2c", "axel", "fetch", "lwp-download"})


_CLONES = {
    "git": ("clone",),
    "jj": ("clone",),
    "hg": ("clone",),
    "svn": ("checkout", "co", "export"),
    "gh": ("clone",),
    "glab": ("clone",),
}
_UNPACKERS = frozenset({"tar", "gtar", "bsdtar", "unzip", "cpio", "7z", "7za", "unrar"})
_CLONING = frozenset({"submodule"}).union(*_CLONES.values())
_FOLDER_CREATORS = _UNPACKERS | _CLONES.keys()
_UNPACKED_TO = frozenset({"-C", "--directory", "-d", "-D"})
# Windows looks for a program in the working folder, too.
_WINDOWS_PROGRAMS = (".exe", ".bat", ".cmd", ".com", ".ps1")


def check_written_files(context: Context) -> str | None:
    """Why a script is catastrophic because of a file that it writes and runs; None if it is not."""
    written = WrittenFiles()
    for at, command in enumerate(context.script.commands):
        for call in context.calls_at(at):
            if written and (
                why := _check_run(call, context, written)
                or check_readers(call, context, written)
                or check_build(call, written)
            ):
                return why
            _record_writes(call, context, written)
        _record_redirections(command, at, context, written)
        if command.assignments and (why := _check_start_files(command, context, written)):
            return why
        if written and (why := check_startup_files(context, written)):
            return why
    return None


def may_fetch_folder(command: Command) -> bool:
    """Whether a command may fetch a folder: a fast check."""
    if base_name(command.words[0].text or "") not in _CLONES:
        return False
    texts = [word.text for word in command.words]
    return None in texts or not _CLONING.isdisjoint(texts)


def _record_writes(call: Call, context: Context, written: WrittenFiles) -> None:
    words = call.command.words
    if call.name in _FOLDER_CREATORS:
        start = join("", *(after for before, after in pairwise(call.texts) if before == "-C" and call.name == "git"))
        for folder in (*_cloned_folders(call), *_submodule_folders(call), *_unpacked_folders(call, context, written)):
            written[f"{resolve_path(join(start, folder), call.command)}/"] = WrittenFile("runs code from the network")
    if call.name in FETCHERS:
        for name in _download_files(call):
            written[resolve_path(name, call.command)] = WrittenFile("runs code from the network")
    elif (
        call.name in _INPUT_WRITERS
        and (names := [*_input_targets(call)])
        and (holds := _input_content(call, context)) is not None
    ):
        for name in names:
            _record_content(written, resolve_path(name, call.command), holds, adds=has_option(call.args, "a", "append"))
    elif call.name in {"mv", "cp", "ln", "install"} and len(words) > 2:  # noqa: PLR2004 - source and target
        source = written.find(resolve_path(words[-2], call.command))
        if source is not None:
            written[resolve_path(words[-1], call.command)] = source


def _input_targets(call: Call) -> Iterator[Word | str]:
    """The files that a program writes its input to: `tee FILE`, `dd of=FILE`, `sort -o FILE`, `cp /dev/stdin FILE`."""
    words = call.command.words
    if call.name in {"dd", "gdd"}:
        yield from (text[3:] for text in call.texts if text.startswith("of="))
    elif call.name == "sort":
        yield from (after for before, after in pairwise(words) if before.text in {"-o", "--output"})
        yield from (text[9:] for text in call.texts if text.startswith("--output="))
    elif call.name in _COPIERS:
        if any(text in STANDARD_INPUTS for text in call.texts[:-1]):
            yield words[-1]
    else:
        yield from (word for word in words[1:] if word.form[:1] != "-")


def _input_content(call: Call, context: Context) -> WrittenFile | None:
    """The input of a program that writes it unchanged."""
    if any(one.name in FETCHERS and one.name != "openssl" for one in context.feeders(call)):
        return WrittenFile("runs code from the network")
    stdin_from = [*context.feeders(call)]
    if any(one.name in _BINARY_DECODERS for one in stdin_from) or _is_transformed(stdin_from, context):
        return WrittenFile("runs decoded text as code")
    texts = [*input_texts(call, context), *(text for one in stdin_from for text in _printed_texts(one, context))]
    return WrittenFile(None, "\n".join(dict.fromkeys(texts))) if texts else None


def _printed_texts(call: Call, context: Context) -> Iterator[str]:
    """The worst possible output of `echo` or `printf`; for other programs, the text that they may pass on from their input."""
    said = printed_text(call)
    if said is not None:
        yield said
    elif call.name in {"echo", "printf"}:
        yield " ".join(call.texts)
    elif call.name in _PASS_THROUGH:
        yield from input_texts(call, context)
        yield from (text.strip() for text in call.texts if " " in text and call.name in {"yes", "jq"})


def _is_transformed(calls: list[Call], context: Context) -> bool:
    """Whether one of *calls* decodes or changes text, so that its output is not text of the line."""
    return any(call.name in _TRANSFORMERS and any(True for _ in input_texts(call, context)) for call in calls)


def _record_content(written: WrittenFiles, path: str, holds: WrittenFile, *, adds: bool) -> None:
    """Record the content of a file; with *adds*, behind its previous content."""
    before = written.find(path) if adds else None
    if before is None:
        written[path] = holds
    elif before.why is None:
        written[path] = WrittenFile(holds.why, f"{before.text or ''}{holds.text or ''}")


def _check_start_files(command: Command, context: Context, written: WrittenFiles) -> str | None:
    """`BASH_ENV=FILE bash`, `PATH=.:$PATH FILE`."""
    for one in command.assignments:
        if one.name in {"BASH_ENV", "ENV"}:
            found = written.find(resolve_path(one.value, command))
        elif one.name == "PATH" and command.words:
            found = written.find(resolve_path(command.words[0], command))
        else:
            continue
        if found is not None and (why := found.why or context.check_source(found.text or "")):
            return why
    return None


def _cloned_folders(call: Call) -> Iterator[str]:
    """The folder that `git clone URL` or a similar command creates."""
    texts = [text for text in call.texts if text[:1] != "-"]
    at = next((place for place, text in enumerate(texts) if text in _CLONES.get(call.name, ())), len(texts))
    # In front of the source, values of options may stand.
    named = texts[at + 1 :]
    start = next((place for place, text in enumerate(named) if ":" in text), 0)
    source, *rest = named[start:] or [""]
    # Files that were on this machine before are no more dangerous than they were.
    if ":" in source or (call.name in {"gh", "glab"} and source):
        yield rest[-1] if rest else source.rstrip("/").removesuffix(".git").rpartition("/")[2].rpartition(":")[2]


def _submodule_folders(call: Call) -> Iterator[str]:
    """The folders that `git submodule add URL` and `git submodule update` fill; any folder if the command names none."""
    texts = [text for text in call.texts if text[:1] != "-"]
    if call.name != "git" or "submodule" not in texts[:-1]:
        return
    action, *named = texts[texts.index("submodule") + 1 :]
    if action == "add" and named:
        yield _last_part(named[-1])
    elif action == "update":
        # Numbers are the values of `--depth` and `--jobs`.
        yield from [text for text in named if not text.isdigit()] or [ANY_FOLDER]


def _last_part(source: str) -> str:
    """The name of the folder that a URL gives; a path is returned unchanged."""
    return source.rstrip("/").removesuffix(".git").rpartition("/")[2].rpartition(":")[2] if ":" in source else source


def _unpacked_folders(call: Call, context: Context, written: WrittenFiles) -> Iterator[str]:
    """The folders into which a downloaded archive is unpacked."""
    if call.name not in _UNPACKERS:
        return
    named = (written.find(resolve_path(word, call.command)) for word in call.command.words[1:])
    is_fetched = any(one is not None and one.why for one in named)
    if is_fetched or any(one.name in FETCHERS and one.name != "openssl" for one in context.feeders(call)):
        folders = [after for before, after in pairwise(call.texts) if before in _UNPACKED_TO]
        folders += [text.partition("=")[2] for text in call.texts if text.startswith("--directory=")]
        yield folders[-1] if folders else "."


def _download_files(call: Call) -> list[Word | str]:
    """The files that a program writes its download to."""
    if call.name in _OUTPUT_NAMED_LAST:
        return [*call.command.words[2:], *_copied_files(call)]
    options = _OUTPUTS.get(call.name, ("-o", "-O", "--output"))
    words = call.command.words
    found: list[Word | str] = []
    for at, word in enumerate(words):
        text = word.text or word.prefix
        if text in options or _ends_with_option(text, options):
            found += words[at + 1 : at + 2]
        elif text[:2] in options and text[2:]:
            found.append(text[2:])
        elif text.partition("=")[0] in options:
            found.append(text.partition("=")[2])
    return found or [*_files_named_by_url(call)]


def _copied_files(call: Call) -> Iterator[str]:
    """The copied files, with their own names in the last operand, which is a folder."""
    *sources, folder = [text for text in call.texts if text[:1] != "-"] or [""]
    yield from (join(folder, text.rpartition("/")[2].rpartition(":")[2]) for text in sources if ":" in text)


def _ends_with_option(text: str, options: tuple[str, ...]) -> bool:
    """Whether a cluster such as `-fsSLo` ends in one of the short options."""
    return text[:1] == "-" and text[1:].isalpha() and f"-{text[-1]}" in options


def _files_named_by_url(call: Call) -> Iterator[str]:
    """The files named after the last parts of the URLs."""
    if call.name not in _NAMED_BY_URL and not has_option(call.args, "O", "remote-name"):
        return
    names = [text.partition("?")[0].rpartition("/")[2] for text in call.texts if "/" in text or "." in text]
    folders = [after for before, after in pairwise(call.texts) if before in {"-P", "--output-dir", "-d"}]
    yield from (join(folder, name) for folder in (*folders, "") for name in names if name)


def _record_redirections(command: Command, at: int, context: Context, written: WrittenFiles) -> None:
    targets = [one.target for one in command.redirections if one.operator in {">", ">>", ">|", "&>"} and one.target]
    if not targets:
        return
    holds = _output_content(command, at, context)
    if holds is not None:
        adds = any(one.operator == ">>" for one in command.redirections)
        for target in targets:
            _record_content(written, resolve_path(target, command), holds, adds=adds)


def _output_content(command: Command, at: int, context: Context) -> WrittenFile | None:
    calls = [*context.calls_at(at), *(call for feeder in command.stdin_from for call in context.calls_at(feeder))]
    if any(call.name in FETCHERS and call.name != "openssl" for call in calls):
        return WrittenFile("runs code from the network")
    if any(call.name in _BINARY_DECODERS for call in calls):
        return WrittenFile("runs decoded text as code")
    if _is_transformed(calls, context):
        return WrittenFile("runs decoded text as code")
    if not command.words or command.words[0].text == "exec":
        return _group_content(command, at, context)
    text = next((one.text for one in command.redirections if one.text is not None), None)
    for call in calls:
        text = text if text is not None else next(_printed_texts(call, context), None)
    # `echo` ends its text with a newline, `printf` does not.
    end = "\n" if command.words[0].text == "echo" and text is not None else ""
    return WrittenFile(None, text + end) if text is not None else None


def _group_content(command: Command, at: int, context: Context) -> WrittenFile | None:
    """The content that `{ ...; } >FILE` writes, or all commands behind `exec >FILE`: the text of their `echo` and `printf`."""
    commands = context.script.commands
    others = range(at + 1, len(commands)) if command.words else range(at)
    texts = [
        text
        for place in others
        if not commands[place].redirections
        for call in context.calls_at(place)
        for text in _printed_texts(call, context)
    ]
    return WrittenFile(None, "\n".join(texts)) if texts else None


def _check_run(call: Call, context: Context, written: WrittenFiles) -> str | None:
    words = call.command.words
    name = without_version(call.name)
    is_path = words[0].text is None or "/" in words[0].text or words[0].text.lower().endswith(_WINDOWS_PROGRAMS)
    candidates = [words[0]] if is_path else []
    if call.name in _INSTALLERS:
        candidates += [word for word in words[1:] if word.form[:1] != "-"]
    if name in SHELLS or name in INTERPRETERS or name in {"source", ".", "go", "java"}:
        rest = (word for before, word in pairwise(words) if before.text not in _SHELL_VALUED or name not in SHELLS)
        candidates += [word for word in rest if word.form[:1] not in {"-", "+"}][: 2 if name == "go" else 1]
    candidates += [
        one.target for one in call.command.redirections if one.operator == "<" and one.target and name in SHELLS
    ]
    if name in SHELLS or name in INTERPRETERS:
        candidates += [word for one in context.feeders(call) if one.name == "cat" for word in one.command.words[1:]]
    for word in candidates:
        found = written.find(resolve_path(word, call.command))
        if found is not None and (why := found.why or _check_text(call, context, name, found.text)):
            return why
    return None


def _check_text(call: Call, context: Context, name: str, text: str | None) -> str | None:
    if text is None:
        return None
    if name in INTERPRETERS or name == "go":
        return check_code(call, context, name, text)
    return context.check_source(text)
