"""Kinds of lines that agents type all day, each beside the nearest one that must not be covered."""

from tests.rows import each_row

from toolcharter.guards.shell.analyse import Analysis, analyse

WS = "/home/dev/ws"
KNOWN = [
    # A text of the line's own, changed as it is shown.
    'name=user-profile_card; echo "${name//[-_]/ }" "${name^^}" "${#name}"',
    'x=$(ls); echo "${x//a/b}" "${x: -3}" "${x::2}" "${x#*/}"',
    'for f in *.md; do echo "${f^^}"; done',
    'n=abc; head -n "${#n}" a.md',
    # What a condition has matched, of what the line knows.
    'b=$(git branch --show-current); if [[ $b =~ ^feature/([A-Z]+-[0-9]+) ]]; then echo "${BASH_REMATCH[1]}"; fi',
    '[[ v1.2 =~ ^v([0-9]+) ]] && echo "$BASH_REMATCH ${BASH_REMATCH[1]}"',
    # Here-strings feed what here-documents may.
    "awk '{print $2}' <<< \"$(git log -1 --format='%H %ct')\"",
    'x=$(ls); sort <<< "$x"',
    'f=a.md; wc -c <<< "$f"',
    # The top of the repository is the workspace.
    'cd "$(git rev-parse --show-toplevel)" && ls src',
    'cd src && cd "$(git rev-parse --show-toplevel)" && ls src',
    'cd src; (cd "$(git rev-parse --show-toplevel)"; ls); ls',
    # What is said at the end of a line, or where a command fails.
    "trap 'echo \"failed at line $LINENO: $BASH_COMMAND\" >&2' ERR; jq empty a.json; ls src",
    'x=a.md; trap \'echo "failed"; exit 1\' ERR; cat "$x"',
    "trap 'echo bye' EXIT; ls",
    # A pipe into a group can always be read.
    'git tag | head -2 | { read -r new; read -r old; echo "$old..$new"; }',
    # Globs behind what the line knows.
    'f=src/Table.tsx; ls "${f%.tsx}".*',
    'd=src; ls $d/*.py; cat "$d"/*.md "$d/"[ab].md',
    'for d in src lib; do ls "$d"/*.py; wc -l $d/*.md; done',
    'd=src; for f in "$d"/*.py; do wc -l "$f"; done',
    # Nothing before it changes what there is to enter.
    "cd web && npm run lint; cd ..; cd api && pytest -q",
    "cd a && ls && cd .. && npm test && cd b",
    # It is read, and not run.
    "bash -n scripts/deploy.sh && echo ok",
    'for s in scripts/*.sh; do bash -n "$s"; done',
    "sh -n a.sh",
    "cat a.sh | bash -n && echo ok",
    "bash -n <a.sh; sh -n <b.sh",
    "yarn run lint --fix && bun run typecheck",
    "sleep 1; sleep 0.5; make -j$(nproc)",
    # Where a line has come from.
    "cd a && ls; cd -; ls",
    "cd a && npm test 2>&1 | tail -5; cd - >/dev/null; cat x.md",
    "cd a || exit 1; ls; cd - && ls",
    "(cd a && ls; cd - && ls); ls",
    # The top of the repository, by a variable.
    'root=$(git rev-parse --show-toplevel); cd "$root"; for f in src/*.py; do wc -l "$f"; done',
    'root="$(git rev-parse --show-toplevel 2>/dev/null)" && cd "$root" && cat a.md',
    'cd src; root=$(git rev-parse --show-toplevel); cd "$root"; git -C "$root" log; (cd "$root" && ls)',
    # Bash shows what it runs, of which all is known.
    "set -x; git diff --quiet HEAD -- src; rc=$?; set +x; echo rc=$rc",
    'set -euxo pipefail; for f in *.md; do wc -l "$f"; done; x=$(ls); echo "$x"',
    "set -o xtrace; ls; set +o xtrace; set -v; ls",
    "time [[ -f a ]]; [[ -f a ]] && ls; env [ -f a ]",
    # What is printed into a variable.
    "printf -v stamp '%04d' 7; echo \"migration $stamp\"",
    'printf -v line \'%.0s-\' {1..40}; echo "$line"; ls; echo "$line"',
    # Sizes and counts are numbers.
    'size=$(stat -c %s a.js); echo "$((size / 1024)) KB"',
    "n=$(wc -l < a.md | tr -d ' '); echo $((n + 1))",
    # Names that printf prints are those that ls prints.
    "printf '%s\\n' src/*.py | xargs -n1 basename | sort",
    "printf '%s\\0' src/*.py a.md | xargs -0 wc -l",
    "find src -name '*.py' | xargs python -m py_compile",
    'VERSION=$(jq -r .version package.json); echo "$VERSION"; readonly ROOT=src; ls "$ROOT"',
]
UNKNOWN = [
    'echo "${TOKEN^^}"',
    'echo "${TOKEN//a/b}"',
    'rm "${f^^}"',
    'f=a.b; rm "${f//[.]/_}"',
    'echo "${#TOKEN}"',
    'echo "${x//$(reboot)/b}"',
    'echo "${x//a/$TOKEN}"',
    'echo "${a[0]^^}"',
    ': "${n:=3}"; echo "$n"',
    ': "${PATH:=.}"; ls',
    'n=; : "${n:=/etc/passwd}"; cat "$n"',
    '[[ $TOKEN =~ (.*) ]] && echo "${BASH_REMATCH[1]}"',
    'x=a; [[ $x =~ (.*) ]]; [[ $TOKEN =~ (.*) ]]; echo "${BASH_REMATCH[1]}"',
    '[[ "a$TOKEN" =~ (.*) ]]; echo "${BASH_REMATCH[1]}"',
    'x=a; [[ $x =~ (.*) ]]; rm "${BASH_REMATCH[1]}"',
    'x=a; [[ $x =~ (.*) ]]; read -r BASH_REMATCH; echo "${BASH_REMATCH[1]}"',
    'echo "${BASH_REMATCH[1]}"',
    'sort <<< "$TOKEN"',
    'bash <<< "$(ls)"',
    "cd $(git rev-parse --show-toplevel) && ls",
    'cd "$(git rev-parse --show-toplevel)/src" && ls',
    'cd "$(git rev-parse --show-toplevel)"; cat ../x',
    'cd "$(git rev-parse --show-prefix)"; ls',
    'git() { echo /etc; }; cd "$(git rev-parse --show-toplevel)"; ls',
    'for i in 1 2; do cd "$(git rev-parse --show-toplevel)"; ls; done',
    'cat "$(git rev-parse --show-toplevel)/a.md"',
    "trap 'cd ..' ERR; false; cat x",
    "trap 'x=/etc/passwd' ERR; x=a; false; cat \"$x\"",
    "trap 'echo $((x=1))' ERR; x=a; cat \"$x\"",
    "trap 'echo \"$(cat ../x)\"' ERR; ls",
    "trap 'echo \"$TOKEN\"' EXIT; ls",
    "trap 'cat ../x' EXIT; ls",
    "trap 'ls' DEBUG; ls",
    "trap '' INT; ls",
    "trap - EXIT; ls",
    'trap "$x" EXIT',
    'ls | { read -r x; echo "$x"; } < src',
    '{ read -r x; echo "$x"; }',
    "d=../x; ls $d/*.py",
    "d='*'; ls $d/*.py",
    'n=$(ls | wc -l); echo "/etc/$n"*',
    'for d in src ..; do ls "$d"/*.py; done',
    "for d in src lib; do cd $d*; ls; done",
    'd=..; for f in "$d"/*.py; do echo "$f"; done',
    'd=src; d=..; for f in "$d"/*.py; do echo "$f"; done',
    'd=src; for i in 1 2; do for f in "$d"/*.py; do cat "$f"; done; d=/etc; done',
    'd=src; read -r d; for f in "$d"/*.py; do echo "$f"; done',
    "npm run lint; cd web; cd ..",
    "cd a; rm -r x; cd b; cd ..; cat ../x",
    "cd a; npm test; cd ..; cd b; cd ..",
    "npm test & cd a; cd ..; ls",
    "cd a | true; npm test; cd ..",
    "for i in 1 2; do cd a; npm test; cd ..; done",
    "bash -n +n x.sh",
    "bash x.sh -n",
    "bash -n ../x.sh",
    "bash -n <../x.sh",
    "git ls-files | xargs bash -n",
    "zsh -n <x.sh",
    "bash -n $x <x.sh",
    "bash -n -s <x.sh",
    "bash -n +n <x.sh",
    "source .venv/bin/activate && pytest -q",
    "cd -",
    "cd -; cat x",
    "cd -P -; cat x",
    "cd a; cd b; cd -; cat x",
    "cd a && cd b && cd - && cat ../x",
    "cd a && cd -; cat ../x",
    "cd ..; cd -; cat x",
    "cd /etc; cd -; cat x",
    'cd "$x"; cd -; cat x',
    'cd "$x"; cd a; cd -; cat x',
    "pushd a; popd; cd -; cat x",
    "(cd b); cd -; cat x",
    "cd a || true; (cd b); cd -; cat x",
    "cd a & cd -; cat x",
    "if true; then cd a; fi; cd -; cat x",
    "for d in a b; do cd a; cd -; done; cat x",
    "cd a; bash -c 'cd -; cat x'",
    "OLDPWD=/etc; cd a; cd -; cat passwd",
    "read -r OLDPWD <<< /etc; cd a; cd -; cat passwd",
    "printf -v OLD'PWD' /etc; cd a; cd -; cat passwd",
    "cd() { :; }; cd a; cd -; cat x",
    'root=$(cat f); cd "$root"; ls',
    "root=$(git rev-parse --show-toplevel); cd $root; ls",
    'root=$(git rev-parse --show-toplevel); cd "$root/../x"; ls',
    'root=$(git rev-parse --show-toplevel); cd "$root/src"; ls',
    'root=$(git rev-parse --show-toplevel); cd "${root%/*}"; ls',
    'root=$(git rev-parse --show-toplevel)/..; cd "$root"; ls',
    'root=$(git rev-parse --show-toplevel); root=/etc; cd "$root"; ls',
    'root=$(git rev-parse --show-toplevel); root+=/..; cd "$root"; ls',
    'root=$(git rev-parse --show-toplevel); read -r root; cd "$root"; ls',
    'root=$(git rev-parse --show-toplevel); cat "$root/a.md"',
    'root=$(git rev-parse --show-toplevel); for i in 1 2; do cd "$root"; ls; done',
    'root=$(git -C /x rev-parse --show-toplevel); cd "$root"; ls',
    'cd ..; root=$(git rev-parse --show-toplevel); cd "$root"; ls',
    'git() { echo /etc; }; root=$(git rev-parse --show-toplevel); cd "$root"; ls',
    "set -x; y=$TOKEN",
    "y=$TOKEN; set -ex; ls",
    "set -o xtrace; y=${TOKEN:-x}",
    "set -x; PS4='$(reboot)'; ls",
    "set -a; ls",
    # These print what the environment holds.
    "declare; ls",
    "typeset; ls",
    "readonly; ls",
    "declare -r; ls",
    "declare -a; ls",
    "(typeset); git status",
    'echo "$(declare)"',
    "f() { local; ls; }; f",
    "set -- a; ls",
    "printf -v x '%n' 'a[$(reboot)]'; ls",
    "printf -v x -- '%5n' PATH; ls",
    "printf -v x '%s' a '%n'; ls",
    "printf -v 'a[$(reboot)]' x; ls",
    "printf -v PATH x; ls",
    "printf -v PS4 '$(reboot)'; set -x; ls",
    'printf -v x \'%s\' "$TOKEN"; echo "$x"',
    'printf -v x /etc/passwd; cat "$x"',
    'x=a.md; printf -v x /etc/passwd; cat "$x"',
    'for f in a b; do printf -v f /etc/passwd; cat "$f"; done',
    'for f in *.md; do printf -v f /etc/passwd; cat "$f"; done',
    "printf -v x 'a[$(reboot)]'; echo $((x + 1))",
    'printf -v x a >/etc/y; echo "$x"',
    "printf -v x; ls",
    "n=$(stat -c %n a.js); echo $((n + 1))",
    "n=$(stat -c %s *.js); echo $((n + 1))",
    "n=$(stat -c %s a.js b.js); echo $((n + 1))",
    "n=$(cat a.md | tr -d ' '); echo $((n + 1))",
    "n=$(wc -l < a.md | tr 0 a); echo $((n + 1))",
    "printf '%s\\n' ../*.py | xargs wc -l",
    "printf '%s\\n' *.py -o | xargs wc -l",
    "printf '%s' src/*.py | xargs wc -l",
    "printf 'x%s\\n' src/*.py | xargs wc -l",
    "printf '%s\\n' \"$TOKEN\" src/*.py | xargs wc -l",
    "find src -name '*.py' | xargs python -m pytest",
    # Bash knows `[[`, and whoever else starts it looks for a program.
    "git ls-files | xargs [[",
    "env [[ -f a ]]",
    "timeout 5 [[ -f a ]]",
    "find . -exec [[ -f {} ]] \\;",
    # A link among the folders may lead elsewhere, and one may come while the loop runs.
    'for d in */; do (cd "$d" && ls); done',
    'for d in packages/*/; do (cd "$d" && npm test); done',
    "bun run ls",
    "yarn run env",
    "pnpm vitest run",
]


def is_known(found: Analysis) -> bool:
    """Whether no word of a line has to be mentioned by a rule."""
    needs = [need.form for one in found.commands for need in one.needs]
    return not (needs or found.unsupported or found.unresolved_program or found.catastrophe)


@each_row("line", KNOWN)
def test_everyday_lines_need_rules_for_their_programs_alone(line: str) -> None:
    """No word of them has to be mentioned."""
    assert is_known(analyse([line], WS))


@each_row("line", UNKNOWN)
def test_lines_that_only_look_like_them_need_more(line: str) -> None:
    """A word has to be mentioned, or no rule covers them."""
    assert not is_known(analyse([line], WS))


def needs_of(line: str) -> list[list[str]]:
    return [[need.form for need in one.needs] for one in analyse([line], WS).commands if not one.is_transparent]


def test_a_virtual_environment_leaves_the_folder_alone() -> None:
    """A rule has to mention its file; another file may move anywhere."""
    assert needs_of("source .venv/bin/activate && pytest -q") == [["source", ".venv/bin/activate"], []]
    assert needs_of(". venv/bin/activate; which python") == [[".", "venv/bin/activate"], []]
    assert needs_of("source ../x/bin/activate; pytest -q")[1] == ["(unknown folder)"]
    assert needs_of("source scripts/env.sh; ls")[1] == ["(unknown folder)"]
    assert needs_of("source .venv/bin/activate x; ls")[1] == ["(unknown folder)"]


def test_programs_that_a_project_has_installed_are_mentioned() -> None:
    """And then asked for what their own tables ask for."""
    assert needs_of("yarn tsc --noEmit --pretty false") == [["tsc"]]
    assert needs_of("pnpm vitest run --config x.ts") == [["vitest", "--config"]]
    assert needs_of("bun run tsc --project ../x") == [["tsc", "../x"]]
    assert needs_of("yarn run tsc -p ../x") == [["tsc", "../x"]]


def test_a_folder_that_is_entered_before_anything_changes_is_looked_at() -> None:
    """And none that is entered later."""
    found = analyse(["cd web && npm run lint; cd ..; cd api && pytest -q"], WS).commands
    assert [(one.path, one.kind) for command in found for one in command.listings] == [("web", "folder")]
