"""Shell source in the arguments of programs that are no shells: archivers, terminals, programs that set variables.

Each text is parsed as shell source; a text that does not parse is ignored.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from toolcharter.guards.shell.floor.context import Call, Context, base_name
from toolcharter.guards.shell.floor.data_sources import SHELLS, without_version
from toolcharter.guards.shell.floor.interpreters import EVALUATES_TEXT, check_shell
from toolcharter.guards.shell.floor.word_texts import Arg, possible_args
from toolcharter.guards.shell.nodes import Command
from toolcharter.guards.shell.programs.launchers import CONTAINER, LAUNCHERS, words_after_options

_TAR = "-I --use-compress-program --to-command -F --info-script --new-volume-script --rmt-command --rsh-command"
_TERMINAL = "-e -x --command"
# Source: the manuals of the programs; GTFOBins, functions "shell" and "command".
COMMAND_OPTIONS = {
    name: frozenset(options.split())
    for names, options in (
        ("tar gtar bsdtar", _TAR),
        ("rsync", "-e --rsh --rsync-path"),
        ("split gsplit", "--filter"),
        ("sort gsort", "--compress-program"),
        ("rg", "--pre"),
        ("zip", "-TT --unzip-command"),
        ("man", "-P --pager -H --html"),
        ("mapfile readarray complete", "-C"),
        ("npm npx pnpm", "-c --call"),
        ("nix-shell", "--run --command"),
        ("mise rtx", "-c --command"),
        ("nodemon", "-x --exec"),
        ("chokidar", "-c --command"),
        ("ansible", "-a --args"),
        ("entr", "-s"),
        ("xterm urxvt rxvt konsole gnome-terminal xfce4-terminal x-terminal-emulator", _TERMINAL),
        ("hyperfine", "-p --prepare -s --setup -c --cleanup"),
    )
    for name in names.split()
}
"""Options whose value is shell source, or a program with its arguments."""
OUTPUT_OPTIONS = {
    "sort": frozenset({"-o", "--output"}),
    "curl": frozenset({"-o", "--output"}),
    "wget": frozenset({"-O", "--output-document"}),
    "cc": frozenset({"-o"}),
    "gcc": frozenset({"-o"}),
    "clang": frozenset({"-o"}),
}
"""Options whose value is a file that the program writes over."""
LINE_RUNNERS = frozenset({"hyperfine", "concurrently"})
"""Programs whose operands are separate lines of shell source."""
VARIABLE_SETTERS = frozenset({"env", "export", "declare", "typeset", "local", "readonly", "sudo", "doas"})
# Source: git(1), "ENVIRONMENT VARIABLES"; less(1); man(1); environ(7); rsync(1).
_COMMAND_VARIABLES = frozenset(
    {"GIT_SSH_COMMAND", "GIT_SSH", "GIT_PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_EXTERNAL_DIFF"}
    | {"GIT_PROXY_COMMAND", "GIT_ASKPASS", "SSH_ASKPASS", "SUDO_ASKPASS", "PAGER", "MANPAGER", "EDITOR", "VISUAL"}
    | {"SUDO_EDITOR", "KUBE_EDITOR", "SYSTEMD_EDITOR", "SYSTEMD_PAGER", "PSQL_PAGER", "PSQL_EDITOR", "BROWSER"}
    | {"LESSOPEN", "LESSCLOSE", "PROMPT_COMMAND", "RSYNC_RSH", "CVS_RSH", "FZF_DEFAULT_COMMAND", "FCEDIT"}
)
"""Variables whose value a shell runs."""
_START_FILES = frozenset({"BASH_ENV", "ENV"})
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=(.*)", re.DOTALL)
_LIST_SEPARATORS = (":::", ":::+")
_EVALUATORS = frozenset({"eval", "source", ".", "exec", "command", "builtin", "env"}) | SHELLS


def _entry_of_program(table: Mapping[str, frozenset[str]], call: Call) -> frozenset[str]:
    """What *table* says of a program, or of the one that it is a version of: `gcc-12`."""
    return table[call.name] if call.name in table else table[without_version(call.name)]


def option_values(texts: Sequence[str], options: frozenset[str]) -> Iterator[str]:
    """The values of *options* in *texts*: as the next word, behind `=`, attached, behind a cluster or an abbreviation."""
    for at, text in enumerate(texts):
        name, equals, value = text.partition("=")
        if text in options or _ends_with_option(text, options):
            yield from texts[at + 1 : at + 2]
        elif text.startswith("--") and _is_abbreviated(name, options):
            yield from [value] if equals else texts[at + 1 : at + 2]
        elif text[:2] in options:
            yield text[2:]


def _ends_with_option(text: str, options: frozenset[str]) -> bool:
    return text[:1] == "-" and text[1:].isalpha() and f"-{text[-1]}" in options


def _is_abbreviated(name: str, options: frozenset[str]) -> bool:
    return len(name) > len("--x") and any(option.startswith(name) for option in options)


def check_lines(context: Context, lines: Iterator[str]) -> str | None:
    """Why one of *lines*, each shell source, is catastrophic."""
    return next((why for line in lines if line.strip() and (why := context.check_source(line)) is not None), None)


def check_options(call: Call, context: Context) -> str | None:
    """`tar --to-command TEXT`, `rsync -e TEXT`, `split --filter=TEXT`."""
    return check_lines(context, option_values(call.texts, _entry_of_program(COMMAND_OPTIONS, call)))


def check_operands(call: Call, context: Context) -> str | None:
    """`hyperfine TEXT`, `concurrently TEXT`."""
    return check_lines(context, (text for text in call.texts if text[:1] != "-"))


def check_tar_checkpoint(call: Call, context: Context) -> str | None:
    """`tar --checkpoint-action=exec=TEXT`."""
    actions = option_values(call.texts, frozenset({"--checkpoint-action"}))
    return check_lines(context, (action[5:] for action in actions if action.startswith("exec=")))


def check_ssh_options(call: Call, context: Context) -> str | None:
    """`ssh -o ProxyCommand=TEXT`: the command runs on this machine."""
    settings = (text.replace(" ", "=", 1).partition("=") for text in option_values(call.texts, frozenset({"-o"})))
    return check_lines(context, (value for name, _, value in settings if name.lower().endswith("command")))


def check_settings(call: Call, context: Context) -> str | None:
    """`export PAGER=TEXT`, `env GIT_SSH_COMMAND=TEXT`."""
    found = (match for text in call.texts if (match := _ASSIGNMENT.fullmatch(text)))
    return check_lines(context, (match[2].lstrip("|!") for match in found if match[1] in _COMMAND_VARIABLES))


def check_aliases(call: Call, context: Context) -> str | None:
    """`alias ls=TEXT`."""
    return check_lines(context, (text.partition("=")[2] for text in call.texts if "=" in text))


def check_callback(call: Call, _context: Context) -> str | None:
    """`mapfile -C eval`: each line of the input becomes part of the source."""
    given = (text.split()[:1] for text in option_values(call.texts, _entry_of_program(COMMAND_OPTIONS, call)))
    return EVALUATES_TEXT if any(words and words[0].rpartition("/")[2] in _EVALUATORS for words in given) else None


def check_exec(call: Call, context: Context) -> str | None:
    """`docker exec NAME PROGRAM`, `kubectl exec NAME -- PROGRAM`: the program's system is worth protecting, too."""
    texts = call.texts
    at = texts.index("exec") if "exec" in texts else len(texts)
    if "run" in texts and "exec" not in texts and _has_devices(texts):
        inner = words_after_options(call.command.words[texts.index("run") + 2 :], CONTAINER)
        why = check_lines(context, iter([" ".join(word.form for word in inner)]))
        return why if why is not None and "disk" in why else None
    if "--" in texts[at:]:
        words = call.command.words[texts.index("--", at) + 2 :] if len(call.command.words) == len(texts) + 1 else ()
    else:
        words = words_after_options(call.command.words[at + 1 :], CONTAINER)
    if words and base_name(words[0].text or "") in SHELLS:
        # Its source may be what it reads: `docker exec -i web sh <<E`.
        why = check_shell(call.from_word(len(call.command.words) - len(words), base_name(words[0].text or "")), context)
        if why is not None:
            return why
    return check_lines(context, iter([" ".join(word.form for word in words)]))


def _has_devices(texts: Sequence[str]) -> bool:
    """Whether a container gets the disks of this machine."""
    return "--privileged" in texts or any(text.startswith("--device") for text in texts)


def check_output_files(call: Call, context: Context) -> str | None:
    """`sort -o FILE`, `curl -o FILE`: the file is written over."""
    named = (Arg(text) for text in option_values(call.texts, _entry_of_program(OUTPUT_OPTIONS, call)))
    return next((f"overwrites {why}" for arg in named if (why := context.vital_file(call, arg))), None)


def check_assignments(command: Command, context: Context) -> str | None:
    """`GIT_PAGER=TEXT git log`, `BASH_ENV=<(TEXT) bash`."""
    for one in command.assignments:
        if one.name in _START_FILES and (why := context.check_source(f". {one.value.form}")) is not None:
            return why
    given = (one for one in command.assignments if one.name in _COMMAND_VARIABLES)
    return check_lines(context, ((one.value.text or "").lstrip("|!") for one in given))


def check_parallel(call: Call, context: Context) -> str | None:
    """`parallel 'rm -rf {}' ::: /`, `parallel ::: 'rm -rf /'`."""
    words = words_after_options(call.command.words, LAUNCHERS["parallel"])
    texts = [arg.text for arg in possible_args(words, context.paths.home)]
    at = next((place for place, text in enumerate(texts) if text in _LIST_SEPARATORS), len(texts))
    template = " ".join(texts[:at])
    return check_lines(context, (_fill_template(template, text) for text in texts[at:] if text not in _LIST_SEPARATORS))


def _fill_template(template: str, text: str) -> str:
    return template.replace("{}", text) if "{}" in template else f"{template} {text}"


def check_screen(call: Call, context: Context) -> str | None:
    r"""`screen -X stuff 'TEXT\n'`, `screen -X exec TEXT`."""
    texts = call.texts
    at = next((place for place, text in enumerate(texts) if text in {"stuff", "exec"}), len(texts))
    return check_lines(context, iter([" ".join(texts[at + 1 :]).replace("\\n", "\n").replace("^M", "\n")]))
