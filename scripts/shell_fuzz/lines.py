"""Makes random lines: commands in every construct of bash, and mutations of known lines."""

import re
from collections.abc import Callable, Sequence
from random import Random

from shell_fuzz import fragments, shapes
from shell_fuzz.commands import Commands
from shell_fuzz.spelling import spell

_TOKEN = re.compile(r"\s+|[A-Za-z0-9_./@%+-]+|.", re.DOTALL)
_MAX_CHARS = 2000
_MAX_POOL = 3000
_MAX_DEPTH = 2
_SIGNS = " \t\n'\"\\$`;&|<>(){}[]*?!#~=-+/.,:%^@_aexz019"


class Lines:
    """An endless supply of lines, which are the same for the same seed and the same calls of `learn`.

    Args:
        seed: The seed of everything random.
        programs: The programs that the policy allows.
        allowed: Lines that it allows; most mutations are of these.
        denied: Lines that it refuses.
    """

    def __init__(self, seed: int, programs: Sequence[str], allowed: Sequence[str], denied: Sequence[str]) -> None:
        self.random = Random(seed)
        self._commands = Commands(programs, self.random)
        self._allowed = list(allowed)
        self._denied = tuple(line for line in denied if len(line) <= _MAX_CHARS)

        self._statements: tuple[Callable[[int], str], ...] = (
            *(self._joined, self._joined, self._pipeline, self._pipeline, self._group, self._loop, self._branch),
            *(self._substitution, self._document, self._assignment, self._folder),
            *(
                self._function,
                self._function,
                self._loop_over_output,
                self._array,
                self._derived_words,
                self._derived_words,
            ),
        )
        self._mutations: tuple[Callable[[list[str]], None], ...] = (
            *(self._delete, self._duplicate, self._swap, self._insert, self._sign, self._splice, self._respell),
            *(self._replace, self._more),
        )

    def next(self) -> str:
        """Return the next line."""
        if self._happens(0.5):
            line = self._statement(0)
            if self._happens(0.15):
                line = self._mutated(line)
        else:
            line = self._mutated(self.random.choice(self._allowed if self._happens(0.75) else self._denied))
        return line[:_MAX_CHARS]

    def learn(self, line: str) -> None:
        """Add an allowed line to those that are mutated."""
        if len(self._allowed) < _MAX_POOL:
            self._allowed.append(line)
        else:
            self._allowed[self.random.randrange(_MAX_POOL)] = line

    def _statement(self, depth: int) -> str:
        if depth > _MAX_DEPTH or self._happens(0.55):
            return self._simple()
        return self.random.choice(self._statements)(depth + 1)

    def _simple(self) -> str:
        line, choice = self._commands.any(), self.random.choice
        if self._happens(0.04):
            line = f"{choice(fragments.SAFE_ASSIGNMENTS)} {line}"
        if self._happens(0.005):
            line = f"{choice(fragments.BAD_ASSIGNMENTS)} {line}"
        if self._happens(0.06):
            line += choice((" 2>&1", " >/dev/null", " 2>/dev/null", " &>/dev/null", " < a.txt", " <README.md"))
        if self._happens(0.02):
            line = f"{choice(('time', 'command', '!', 'time -p', 'builtin', 'command -p', 'command --'))} {line}"
        if self._happens(0.02):
            line += choice((" # comment", " #'", "\\\n -x", " ;", " &", "\n", ' # "'))
        return line

    def _happens(self, chance: float) -> bool:
        return self.random.random() < chance

    def _joined(self, depth: int) -> str:
        glue = self.random.choice((" | ", " && ", " || ", "; ", "\n", "|", "&&", ";", " |& ", " & ", " |\n", "\n\n"))
        return self._statement(depth) + glue + self._statement(depth)

    def _pipeline(self, depth: int) -> str:
        filters = (
            "wc -l",
            "head -2",
            "sort",
            "uniq",
            "cat",
            "tail -n1",
            "grep x",
            "xargs",
            "xargs echo",
            "xargs -n1 cat",
        )
        return f"{self._statement(depth)} | {self.random.choice(filters)}"

    def _group(self, depth: int) -> str:
        return self.random.choice(("( {} )", "{{ {}; }}", "({})", "! {}", "{{\n{}\n}}"))[:].format(
            self._statement(depth)
        )

    def _loop(self, depth: int) -> str:
        random = self.random
        names = " ".join(random.choice((*fragments.GLOBS, *fragments.FILES[:6], "1", '"$x"')) for _ in range(2))
        body = random.choice((self._statement(depth), 'wc -l "$f"', "cat $f", 'echo "$f"', 'grep x "$f"', "ls -- $f"))
        head = random.choice(
            (f"for f in {names}", "while false", "until true", f"for f in {names}", "for ((i=0;i<2;i++))")
        )
        return random.choice(("{}; do {}; done", "{}\ndo {}\ndone")).format(head, body)

    def _branch(self, depth: int) -> str:
        test = self.random.choice(
            ("[ -f a.txt ]", "test -n x", "[[ -f a.txt ]]", "true", "[[ $x == a* ]]", "(( 1 + 1 ))")
        )
        if self._happens(0.2):
            return f"case x in x|y) {self._statement(depth)};; *) {self._statement(depth)};; esac"
        return f"if {test}; then {self._statement(depth)}; else {self._statement(depth)}; fi"

    def _substitution(self, depth: int) -> str:
        inner = self._statement(depth)
        forms = ("echo $({})", 'echo "$({})"', 'echo "x `{}` y"', "echo <({})", "cat <({})", "wc -l < <({})", "x=$({})")
        more = (
            'x="$({})"; echo "$x"',
            'cat "$({})"',
            "diff <({}) a.txt",
            'echo "${{x:-$({})}}"',
            "cat <<< $({})",
            "$({})",
        )
        return self.random.choice((*forms, *more)).format(inner)

    def _document(self, _: int) -> str:
        random = self.random
        head = random.choice(
            ("cat", "wc -l", "sort", "grep x", "sed p", "awk 1", "tr a b", "xargs cat", "jq .", "head -1")
        )
        word, end = random.choice((("EOF", "EOF"), ("'EOF'", "EOF"), ("\\EOF", "EOF"), ('"E"', "E"), ("-EOF", "\tEOF")))
        body = random.choice(
            ("x", "$HOME", "a\nb", "$(pwd)", "\\$x", "`pwd`", "a.txt", "${x:-y}", "EOF ", "'", '"', "\\")
        )
        return f"{head} <<{word}{random.choice(('', ' | wc -l', ' && ls'))}\n{body}\n{end}"

    def _assignment(self, depth: int) -> str:
        random = self.random
        value = random.choice((*fragments.FILES[:6], *fragments.TEXTS, *fragments.OUTSIDE))
        use = random.choice(
            ('cat "$x"', "echo $x", 'echo "${x%.txt}"', 'ls "$x"', self._statement(depth), "$x", "cat $x")
        )
        return f"x={spell(value, random)}{random.choice(('; ', ' && ', chr(10), ' '))}{use}"

    def _folder(self, depth: int) -> str:
        random = self.random
        folder = random.choice(
            (*fragments.FOLDERS, *fragments.FOLDERS, "..", "link_out", "src/link_up", "-", "@WS@", "@WS@/src")
        )
        option = random.choice(("", "", "", "-- ", "-P ", "-L ", "-e "))
        path = random.choice(
            ("app.py", "../a.txt", "../../outside/secret.txt", "..", "../README.md", "*", "../*", "./../..")
        )
        use = random.choice(
            (self._statement(depth), f"cat {path}", f"ls {path}", f"git log -1 -- {path}", f"find {path}")
        )
        return f"cd {option}{folder}{random.choice((' && ', '; ', chr(10), ' || ', ' | '))}{use}"

    def _function(self, depth: int) -> str:
        """Define one or two functions, and call them in various places."""
        random = self.random
        names = ("f", "g") if self._happens(0.3) else ("f",)
        bodies = [self._body(depth, names[:place]) for place in range(len(names))]
        heads = [
            random.choice(("{}() {{ {}; }}", "{}() {{\n{}\n}}", "function {} {{ {}; }}", "{}() ( {} )")) for _ in names
        ]
        defined = [head.format(name, body) for head, name, body in zip(heads, names, bodies, strict=True)]
        calls = [self._call(random.choice(names)) for _ in range(random.randrange(1, 4))]
        return random.choice(("; ", "\n", "; ")).join((*defined, *calls))

    def _body(self, depth: int, callable_: Sequence[str]) -> str:
        random = self.random
        parts = []
        for _ in range(random.randrange(1, 4)):
            one, other = random.choice(shapes.PARAMETERS), random.choice(shapes.PARAMETERS)
            form = random.choice((*shapes.BODIES, *(f"{name} {{}}" for name in callable_)))
            parts.append(form.format(one, other) if self._happens(0.9) else self._statement(depth))
        return "; ".join(parts)

    def _call(self, name: str) -> str:
        random = self.random
        words = [
            random.choice((*fragments.FILES[:8], *fragments.FOLDERS[:4], *shapes.WORDS))
            for _ in range(random.randrange(4))
        ]
        if self._happens(0.05):
            words.append(random.choice((*fragments.OUTSIDE, *fragments.GLOBS)))
        call = " ".join((name, *words))
        return random.choice(
            (
                "{}",
                "{}",
                "{}",
                "{} | wc -l",
                "for x in a.txt src; do {}; done",
                "x=a.txt; {}",
                'echo "$({})"',
                "{} && ls",
                "{} 2>/dev/null",
                "if {}; then pwd; fi",
                "( {} )",
            )
        ).format(call)

    def _loop_over_output(self, _: int) -> str:
        """Loop over the output of a command."""
        random = self.random
        printer = random.choice(shapes.PRINTERS)
        body = random.choice(shapes.LOOPED)
        read = random.choice(("read -r f", "read -r f", "IFS= read -r f", "read f", "read -r f g"))
        return random.choice(
            (
                "while {read}; do {body}; done < <({printer})",
                "{printer} | while {read}; do {body}; done",
                'n=0; while {read}; do n=$((n + 1)); {body}; done < <({printer}); echo "$n"',
                'mapfile -t a < <({printer}); for f in "${{a[@]}}"; do {body}; done',
                'mapfile -t a < <({printer}); printf \'%s\\n\' "${{a[@]}}"; echo "${{#a[@]}}"',
                "for f in $({printer}); do {body}; done",
                "{printer} | xargs {reader}",
            )
        ).format(
            read=read, body=body, printer=printer, reader=random.choice(("cat", "wc -l", "grep -c x", "head -1", "ls"))
        )

    def _array(self, _: int) -> str:
        """Use an array of words or globs."""
        random = self.random
        words = " ".join(random.choice((*fragments.GLOBS, *fragments.FILES[:8])) for _ in range(random.randrange(1, 4)))
        use = random.choice(
            (
                'cat "${a[@]}"',
                'for f in "${a[@]}"; do wc -l "$f"; done',
                'echo "${#a[@]}"',
                "ls -d ${a[@]}",
                'cat "${a[0]}"',
                'wc "${a[@]}" | tail -1',
            )
        )
        more = random.choice(("", "", "", "a+=(src/app.py); ", "cd src; ", "a=x; "))
        return f"a=({words}); {more}{use}"

    def _derived_words(self, depth: int) -> str:
        """Use words whose values are known only from the output of commands, or from assignments in the line."""
        random = self.random
        known = random.choice(shapes.TOLD)
        file, folder = random.choice((*fragments.FILES, *fragments.OUTSIDE)), random.choice((*fragments.FOLDERS, ".."))
        text, name = random.choice(fragments.TEXTS), random.choice(shapes.NAMES)
        more = random.choice(("", "", "", "x=$(cat a.txt); ", "x=/etc; ", "IFS=/; ", "read -r x; ", "cd src; "))
        return more + (
            known.replace("STATEMENT", self._statement(depth))
            .replace("FILE", spell(file, random))
            .replace("FOLDER", spell(folder, random))
            .replace("TEXT", spell(text, random))
            .replace("NAMES", name)
        )

    def _mutated(self, line: str) -> str:
        for _ in range(self.random.choice((1, 1, 1, 2, 2, 4))):
            tokens = _TOKEN.findall(line)
            if tokens:
                self.random.choice(self._mutations)(tokens)
                line = "".join(tokens)
        return line

    def _delete(self, tokens: list[str]) -> None:
        del tokens[self.random.randrange(len(tokens))]

    def _duplicate(self, tokens: list[str]) -> None:
        place = self.random.randrange(len(tokens))
        tokens.insert(place, tokens[place])

    def _swap(self, tokens: list[str]) -> None:
        one, other = self.random.randrange(len(tokens)), self.random.randrange(len(tokens))
        tokens[one], tokens[other] = tokens[other], tokens[one]

    def _insert(self, tokens: list[str]) -> None:
        space = self.random.choice(("", " "))
        place = self.random.randrange(len(tokens) + 1)
        tokens.insert(place, f"{space}{self.random.choice(fragments.DANGEROUS)}{space}")

    def _sign(self, tokens: list[str]) -> None:
        place = self.random.randrange(len(tokens))
        token, cut = tokens[place], self.random.randrange(len(tokens[place]) + 1)
        tokens[place] = token[:cut] + self.random.choice(_SIGNS) + token[cut + self.random.randrange(2) :]

    def _splice(self, tokens: list[str]) -> None:
        other = _TOKEN.findall(self.random.choice(self._allowed))
        start = self.random.randrange(len(other) + 1)
        place = self.random.randrange(len(tokens) + 1)
        tokens[place:] = other[start:]

    def _respell(self, tokens: list[str]) -> None:
        place = self.random.randrange(len(tokens))
        if tokens[place].strip():
            tokens[place] = spell(tokens[place], self.random)

    def _replace(self, tokens: list[str]) -> None:
        place = self.random.randrange(len(tokens))
        known = (fragments.FILES, fragments.TEXTS, fragments.FOLDERS, fragments.GLOBS, fragments.OUTSIDE)
        if tokens[place].strip():
            tokens[place] = spell(self.random.choice(self.random.choice(known)), self.random)

    def _more(self, tokens: list[str]) -> None:
        """Append options and operands of another command."""
        tokens += [" ", *self._commands.any().partition(" ")[2]]
