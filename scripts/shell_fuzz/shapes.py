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
