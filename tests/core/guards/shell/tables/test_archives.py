"""What lines of tar and its like ask of a rule: they list and read archives."""

from tests.core.guards.shell.tables.requirements_of_lines import required_words
from tests.rows import each_row


@each_row(
    "line",
    [
        "tar tf data.tar",
        "tar -tvf data.tar",
        "tar --list --file=data.tar",
        "tar tvf data.tar a.txt",
        "tar -tzf x.tgz",
        "tar tJf x.tar.xz",
        "tar --list --zstd -f x.tar.zst",
        "tar -xzOf x.tgz a.txt",
        "tar xOf x.tar a.txt",
        "tar --get --to-stdout -f x.tar",
        "unzip -l x.zip",
        "zcat x.gz",
    ],
)
def test_ordinary_purpose_asks_for_nothing(line: str) -> None:
    """What a program is for is covered by a rule that names the program alone."""
    assert required_words(line) == ""


@each_row(
    ("line", "named"),
    [
        ("tar xf data.tar", "xf"),
        ("tar -xfO data.tar", "-xfO"),
        ("tar -xf O a.txt", "-xf"),
        ("tar -xf x.tar --posix", "-xf"),
        ("tar -xOf x.tar -C sub", "-C"),
        ("tar -xOf x.tar --to-command=x", "--to-command=x"),
        ("tar cOf x.tar a.txt", "cOf"),
        ("tar -Of x.tar --delete a.txt", "--delete"),
        ("tar -xf data.tar", "-xf"),
        ("tar cf x.tar a.txt", "cf"),
        ("tar -czf x.tar a.txt", "-czf"),
        ("tar -tf data.tar -I ./evil.sh", "-I"),
        ("tar -tf data.tar --use-compress-prog=./evil.sh", "--use-compress-prog=./evil.sh"),
        ("tar tfI data.tar ./evil.sh", "tfI"),
        ("tar -xzf x.tgz", "-xzf"),
        ("tar -z --create -f x.tgz a.txt", "--create"),
        ("tar -tf /etc/x.tar", "/etc/x.tar"),
        ("tar -tf ../x.tar", "../x.tar"),
        ("tar -tf host:x.tar", "host:x.tar"),
        ("tar tf host:x.tar", "host:x.tar"),
        ("tar -tf x.tar --to-command=x", "--to-command=x"),
        ("tar -tf x.tar --to-com=x", "--to-com=x"),
        ("tar -tf x.tar --checkpoint=1 --checkpoint-action=exec=x", "--checkpoint-action=exec=x"),
        ("tar -tf x.tar --rsh-command=x", "--rsh-command=x"),
        ("tar -tf x.tar --rmt-c=x", "--rmt-c=x"),
        ("tar -tMf x.tar -F ./x", "-tMf -F"),
        ("tar -tf x.tar --index-file=y", "--index-file=y"),
        ("tar -tf x.tar -C ..", "-C .."),
        ("tar -tf x.tar -T list", "-T"),
        ("tar --delete -f x.tar a", "--delete"),
        ("tar -uf x.tar a", "-uf"),
        ("tar -rf x.tar a", "-rf"),
        ("tar -Af x.tar y.tar", "-Af"),
        ("unzip x.zip", "unzip"),
        ("unzip -o x.zip", "-o unzip"),
        ("zip x.zip a", "zip"),
        ("zip -T x.zip -TT ./evil", "zip -T -TT ./evil"),
        ("gunzip /etc/x.gz", "/etc/x.gz"),
        ("gzip -f x", "-f"),
    ],
)
def test_more_than_the_ordinary_has_to_be_named(line: str, named: str) -> None:
    """What runs, writes or reads elsewhere is covered only by a rule that holds these words."""
    assert required_words(line) == named
