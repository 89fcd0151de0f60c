"""What functions, loops over names and arrays are made of."""

from typing import Final

WORDS: Final = ("'a b'", '"x"', "5", "-n", "-1", "TODO", '"$x"', '"src/$x"', "'*.py'", "--", "it\\'s", "''")
"""What functions are called with."""
PARAMETERS: Final = (
    *(
        '"$1"',
        '"$1"',
        '"$1"',
        '"$2"',
        '"$@"',
        "$1",
        "$@",
        '"$*"',
        '"${2:-a.txt}"',
        "${1:-src}",
        '"$#"',
        '"$1/app.py"',
        '"${1%.md}.txt"',
    ),
    *('"$l"', '"x $@"', "$*", '"${1##*/}"', "$((1 + 1))", "$0", '"${3:+-n}"', "a.txt"),
)
"""Of functions, and what their words become."""
BODIES: Final = (
    *(
        "cat {}",
        "wc -l {}",
        "head -1 {} {}",
        "grep -n x {}",
        "ls -d {}",
        "echo {} {}",
        "cat {} | head -1",
        "local l={}",
        'local l={}; cat "$l"',
    ),
    *(
        "[ -f {} ] || return 1",
        'for v in {}; do wc -l "$v"; done',
        "if [ -e {} ]; then cat {}; fi",
        "{}",
        "x={}",
        "shift",
        "return",
        "cd {}",
    ),
    *("case {} in a*) ls;; *) pwd;; esac", 'echo "$(wc -l {})"', "set -- {}", "local l", "l={}"),
)
"""Statements of functions."""
PRINTERS: Final = (
    *(
        "git ls-files",
        "find . -name '*.py'",
        "find src -type f",
        "ls",
        "ls src",
        "grep -rl x src",
        "rg -l x",
        "rg -l x -g '*.py' src",
        "git diff --name-only",
    ),
    *(
        "git diff --name-only HEAD~1",
        "git diff --name-only --diff-filter=d HEAD~1",
        "git ls-files | head -3",
        "git ls-files | grep py",
        "find . -type f | sort",
    ),
    *(
        "cat a.txt",
        "find ..",
        "ls -a",
        "echo a.txt src",
        "find . -print0",
        "git ls-files -z",
        "ls *.txt",
        "printf '%s\\n' a.txt src/app.py",
    ),
)
"""What loops run over."""
LOOPED: Final = (
    *(
        'cat "$f"',
        'wc -l "$f"',
        'echo "$f"',
        '[ -f "$f" ] && head -1 "$f"',
        'wc -l < "$f"',
        "cat $f",
        'grep -c x "$f" | head -1',
        'rg -n x "$f"',
    ),
    *(
        'cat "$f/x"',
        "cat",
        "x=$f",
        'x=1; ls -d "$f"',
        'echo "$f: $(wc -l < "$f")"',
        'cd "$f"',
        'cat "$g"',
        'cat "${f%.py}.txt"',
    ),
)
"""What they do."""
NAMES: Final = (
    "git rev-parse HEAD",
    "git rev-parse --short HEAD",
    "git rev-list -n 2 HEAD",
    "git log --format=%H -2",
    "git merge-base HEAD HEAD",
    "git branch --show-current",
    "git tag",
    "git ls-files",
    "git ls-files '*.py'",
    "find . -name '*.txt'",
    "find src -type f | head -2",
    "ls *.md",
    "ls",
    "date +%F",
    "date +%s",
    "date +%Y%m%d-%H%M%S",
    "date +%FT%T",
    "seq 3",
    "grep -c x a.txt || true",
    "basename FILE",
    "cat a.txt",
    "printf '%s\\n' TEXT",
)
"""Commands that print names, hashes, dates and numbers, or text."""
TOLD: Final = (
    'x=FOLDER; ls "$x"/*; cat $x/*.txt',
    'x=FILE; wc -l "${x%.txt}".*',
    'for x in FOLDER src; do ls "$x"/*.py; cat $x*; done',
    'x=FOLDER; for f in "$x"/*; do wc -l "$f"; done',
    'x=FILE; cat "${x/a/TEXT}" "${x//[a-c]/x}" "${x^^}" "${x: -3}"',
    'x=FILE; cat "${x:=FILE}"; : "${y:=FILE}"; cat "$y"',
    'x=TEXT; head -n "${#x}" FILE',
    'x=FILE; [[ $x =~ (.*)/(.*) ]] && cat "${BASH_REMATCH[1]}"; echo "${BASH_REMATCH[2]}"',
    'x=$(NAMES); git log --oneline "$x"; git show --stat $x; cat "$x"',
    'git diff "$(NAMES)"; git diff $(NAMES) --stat; git show "$(NAMES):FILE"',
    "NAMES | xargs git show --stat",
    'NAMES | while read -r x; do git log --oneline "$x"; STATEMENT; done',
    "cat $(NAMES); wc -l $(NAMES) FILE",
    'cat "FILE$(NAMES)" FOLDER/$(NAMES)',
    'x=$(NAMES); cat "FOLDER/$x" a$x.txt',
    "i=0; i=$((i+1)); cat a$i FOLDER/$i",
    'x=$(NAMES); [ "$x" -gt 1 ] && echo "$((x + 1))"',
    'cat <<< "$(NAMES)"; sort <<< "$x"; xargs cat <<< FILE',
    'cd "$(git rev-parse --show-toplevel)"; cat FILE',
    'cd FOLDER; cd "$(git rev-parse --show-toplevel)" && cat FILE; STATEMENT',
    "trap 'echo \"$LINENO $x\"' ERR; STATEMENT; cat FILE",
    "trap 'cat FILE; STATEMENT' EXIT; STATEMENT",
    "cd FOLDER && STATEMENT; cd ..; cat FILE",
    "cd FOLDER; STATEMENT; cd ..; cd FOLDER; STATEMENT; cd ..; cat FILE",
    'NAMES | { read -r x; read -r y; echo "$x$y"; cat "$x"; }',
    "source FILE; STATEMENT",
    "bash -n FILE; bash -n TEXT FILE",
    'find . -name "*.txt" -print0 | sort -z | xargs -0 cat',
    "timeout 5 cat FILE; env cat FILE; nice cat FILE",
    'cat "$PWD/FILE"; basename "$PWD"',
)
"""Lines in which STATEMENT is another line, FILE, FOLDER and TEXT are such, and NAMES is one of those above."""
