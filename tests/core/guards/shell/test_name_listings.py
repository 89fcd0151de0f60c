"""What commands print that are names, hashes, dates and files: which words hold them, and which stay unknown."""

from tests.rows import each_row

from toolcharter.guards.shell.analyse import Analysis, analyse

WS = "/home/dev/ws"
KNOWN = [
    'base=$(git merge-base HEAD origin/main); git diff --stat "$base"; git log --oneline "$base"..HEAD',
    'git diff "$(git merge-base main HEAD)" --stat',
    'git diff "$(git merge-base main HEAD)...HEAD" -- src',
    "git diff $(git merge-base main HEAD) --stat",
    "BASE=$(git merge-base origin/main HEAD); git diff --stat $BASE",
    'sha=$(git rev-parse --short HEAD); git show --stat "$sha"; echo "$sha"',
    'git show "$(git rev-parse HEAD~2):README.md"',
    "for c in $(git rev-list -n 3 HEAD); do git show --stat $c; done",
    "for c in $(git log --format=%h -5); do git show $c:README.md; done",
    "git show HEAD:README.md && git cat-file -p HEAD:./a.md && git log -3 -- ':!docs' && git rev-parse ':/fix'",
    "git log --format='%H' -n 10 | xargs -n1 git show --stat",
    "git rev-list --all | head -5 | xargs git show --stat",
    'b=$(git branch --show-current); git log --oneline "origin/$b..$b"',
    'git log --format=%H -5 | while read -r h; do git show --stat "$h"; done',
    "git rev-list HEAD | head -3 | while read h; do git show --stat $h; done",
    'name=$(basename "$PWD"); echo "project: $name"',
    'n=$(grep -c FAIL a.txt || true); if [ "$n" -gt 0 ]; then echo "$n failures"; fi',
    "c=$(wc -l <a.txt || echo 0); echo $((c + 1))",
    'for pkg in $(go list ./internal/...); do go test -count=1 "$pkg"; done',
    'pr=$(gh pr view --json number -q .number) && gh pr diff "$pr" --name-only',
    'for c in $(docker ps -q); do docker inspect "$c" --format x; done',
    'docker ps --format "{{.Names}}" | while read -r n; do echo "$n: $(docker inspect -f x "$n")"; done',
    'docker ps -q | while read -r n; do docker logs --tail 5 "$n" 2>&1 | grep -i error; done',
    'while read -r n; do docker inspect "$n"; done < <(docker ps -q)',
    'ns=web; for d in $(kubectl get deploy -n $ns -o name); do kubectl get -n $ns "$d" -o yaml; done',
    'kubectl get pods -A -l app=x -oname | while read -r p; do kubectl describe "$p" | tail -5; done',
    "for s in $(docker compose config --services); do printf '%s ' \"$s\"; done",
    "cp a.yml a.yml.backup-$(date +%Y%m%d-%H%M%S)",
    'd=$(date +%F); mkdir -p "out-$d/x" && cp a.md out-$d/a.md',
    "t=$(date +%s); sleep 1; echo $(( $(date +%s) - t ))",
    'for i in $(seq 3); do cat "f$i.txt"; mkdir dir$i; done',
    'i=0; i=$((i + 1)); cp a.md "b-$i.md"',
    "wc -l $(git ls-files '*.go') | sort -n | tail -5",
    "grep -n foo $(find src -name '*.py' | head -20)",
    "cat $(ls *.md | head -3)",
    # Without quotes, where it is only shown.
    "x=$(git rev-parse HEAD); echo $x",
    "echo on $(git branch --show-current) at $(git rev-parse --short HEAD)",
    "b=$(git branch --show-current); printf '%s\\n' $b",
    "for c in $(git rev-list -n 3 HEAD); do echo $c; git show --stat $c; done",
    'find migrations -name "*.sql" -print0 | sort -z | xargs -0 head -n 5',
    'find . -name "*.md" -print0 | sort -rz | head -z -n 3 | xargs -0 wc -l',
]
UNKNOWN = [
    # A server may hand git names that begin with a dash.
    'git log "$(git branch --show-current)"',
    'b=$(git branch --show-current); git log "$b"',
    'for t in $(git tag); do git log --oneline "$t"; done',
    'git log "$(git describe --tags)"',
    'b=$(git branch --show-current); git log "-$b"',
    'sha=$(git rev-parse HEAD); git log "-$sha"',
    "b=$(git branch --show-current); git log $b",
    "printf $(git branch --show-current)",
    "x=$(cat a.txt); echo $x",
    "x=$(git rev-parse HEAD); x+='*'; echo $x",
    "IFS=0; echo $(git rev-parse HEAD)",
    # These print what they are given.
    'git show "$(git rev-parse main)"',
    'git show "$(git rev-parse "$x")"',
    'git show "$(git log -1 --format=%s)"',
    'git show "$(git log -1)"',
    "git log --format='%h %s' -n 10 | xargs -n1 git show",
    'git show "$(git rev-parse HEAD; echo --output=x)"',
    'git show "$(cat ref)"',
    'x=$(git rev-parse HEAD); x+=$(cat ref); git show "$x"',
    'x=$(git rev-parse HEAD); read -r x; git show "$x"',
    "IFS=-; git show $(git rev-parse HEAD)",
    'git() { echo --output=x; }; git show "$(git rev-parse HEAD)"',
    "git log --format='%h %s' -5 | while read -r h; do git show --stat \"$h\"; done",
    'git log --format=%H -5 | while read -r h; do h=--output=x; git show "$h"; done',
    'git log --format=%H -5 | { read -r h; git show "$h"; } <refs',
    # Part of a name may begin with a dash.
    'docker ps --format "{{.Names}}" | while read -r n; do head -c 3; docker inspect "$n"; done',
    'docker ps --format "{{.Names}}" | while read -r n; do docker exec -i x cat; docker inspect "$n"; done',
    'docker ps --format "{{.Names}}" | while read -r n; do docker inspect "$n"; while read -r m; do echo "$m"; done; done',
    'docker ps --format "{{.Names}}" | while head -c 3; read -r n; do docker inspect "$n"; done',
    'docker ps --format "{{.Names}}" | { head -c 3; while read -r n; do docker inspect "$n"; done; }',
    'docker ps --format "{{.Names}}" | { read -r n; docker inspect "$n"; }',
    'docker ps --format "{{.Names}}" | while read -n 3 n; do docker inspect "$n"; done',
    'docker ps --format "{{.Names}}" | until read -r n; do docker inspect "$n"; done',
    'docker ps --format "{{.Names}}" | while read -r a n; do docker inspect "$n"; done',
    'docker ps --format "{{.Names}}" | while IFS=- read -r n; do docker inspect "$n"; done',
    'docker ps --format "{{.Names}}" | while read -r n; do docker inspect "$n"; done <names',
    'docker ps --format "{{.Names}}" | while read -r n; do n=-x; docker inspect "$n"; done',
    'docker ps --format "{{.Names}} {{.Status}}" | while read -r n; do docker inspect "$n"; done',
    'docker ps -q | while read -r n; do cat "$n"; done',
    # Of secrets, and of what a file holds, kubectl would show what is secret.
    'for d in $(kubectl get secrets -o name); do kubectl get "$d" -o yaml; done',
    'for d in $(kubectl get pods,secret -o name); do kubectl get "$d" -o yaml; done',
    'for d in $(kubectl get Secrets -n x -o name); do kubectl describe "$d"; done',
    'for d in $(kubectl get -f x.yaml -o name); do kubectl get "$d" -o yaml; done',
    'for d in $(kubectl get deploy -o name -o yaml); do kubectl get "$d"; done',
    'for d in $(kubectl get deploy -o name); do kubectl get "-o$d"; done',
    'docker inspect "$(docker ps -q --format x)"',
    'PWD=-x; basename "$PWD"',
    'n=$(cat a.txt || true); [ "$n" -gt 3 ]',
    'n=$(grep -c x a.txt || cat b.txt); [ "$n" -gt 3 ]',
    "n=$(grep -c x a.txt || echo x); echo $((n + 1))",
    # Behind a colon git looks at the disk for what the commit does not hold.
    "git show HEAD:/etc/passwd",
    "git show HEAD:../outside",
    'git show "$(git rev-parse HEAD):/etc/passwd"',
    'sha=$(git rev-parse HEAD); git show "$sha:../outside" "$sha":/etc/passwd',
    "git cat-file -p HEAD:/etc/passwd",
    "git rev-parse HEAD:/etc/passwd",
    "git ls-tree HEAD:/etc",
    "git show :0:/etc/passwd",
    'git diff "HEAD:/etc/passwd" HEAD:a.md',
    # A hash is a file's name to others, and nothing where git fails.
    'sha=$(git rev-parse HEAD); cat "$sha"',
    'sha=$(git rev-parse HEAD); cat "src/$sha"',
    "git log --format='%H' -n 10 | xargs -n1 cat",
    # A module is called as its author likes.
    'for pkg in $(go list ./...); do go vet "$pkg"; done',
    'for pkg in $(go list -f "{{.Dir}}" ./...); do go test "$pkg"; done',
    "go list ./... | xargs -n1 go vet",
    'gh pr diff "$(gh pr view --json title -q .title)"',
    "for s in $(docker compose config --services); do docker compose logs $s; done",
    # A date that holds more than digits, or may be of another program.
    'cp a b-$(date "+%Y %m")',
    "cp a b-$(date +%D)",
    "cp a b-$(date +%c)",
    "cp a b-$(date -d @1 +%F)",
    "cp a ../b-$(date +%F)",
    "IFS=2; cp a b-$(date +%F)",
    'T10="a[\\$(reboot)]"; t=$(date +%FT%H); echo $((t))',
    't=$(date +%F); [ "$t" -gt 3 ]',
    'n=$(ls | wc -l); cat "f$n.txt"',
    'for i in $(seq 3); do cat "../f$i.txt"; done',
    'i=0; i=$((i + 1)); cp a.md ".git$i"',
    # Files that may be elsewhere, or that are changed.
    "wc -l $(find /etc -name '*.go')",
    "wc -l $(git ls-files; echo /etc/passwd)",
    "wc -l $(git ls-files | sed s/a/b/)",
    "wc -l x$(git ls-files)",
    'wc -l "$(git ls-files)"',
    "rm $(find . -name '*.pyc')",
    "cp $(git ls-files) out",
    "sh $(git ls-files '*.sh')",
    "IFS=/; cat $(git ls-files)",
    "cd src; cat $(git ls-files)",
    "cat $(git ls-files); ln -s /etc/passwd x",
    "find . -print0 | sort | xargs -0 cat",
    "find . | sort -z | xargs cat",
    "find . -print0 | sort -z 2>errors | xargs -0 cat",
    "find . -print0 | sort -z -o x | xargs -0 cat",
    "find . -print0 | head -z -n 1 /etc/passwd | xargs -0 cat",
]


def is_known(found: Analysis) -> bool:
    """Whether no word of a line has to be mentioned by a rule."""
    needs = [need.form for one in found.commands for need in one.needs]
    return not (needs or found.unsupported or found.unresolved_program)


@each_row("line", KNOWN)
def test_names_are_as_harmless_as_any_word_there(line: str) -> None:
    """A hash is no option, a date no path that leads elsewhere, and names of files are looked at on disk."""
    assert is_known(analyse([line], WS))


@each_row("line", UNKNOWN)
def test_what_may_be_more_than_a_name_stays_unknown(line: str) -> None:
    """An option, a path, code: a rule has to mention the word."""
    assert not is_known(analyse([line], WS))


def test_names_of_files_are_looked_at_on_disk() -> None:
    """As those of a loop are."""
    found = analyse(["wc -l $(git ls-files '*.go')"], WS).commands
    assert [one.kind for command in found for one in command.listings] == ["index"]
