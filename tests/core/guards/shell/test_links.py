"""Links that a line makes lead nowhere that the look before the line has not seen."""

import pytest
from tests.rows import each_row

from toolcharter.guards.shell.analyse import analyse

WS = "/home/dev/ws"


def needed(line: str) -> list[str]:
    judgement = analyse([line], WS)
    assert judgement.unsupported is None
    return [need.form for one in judgement.commands for need in one.needs]


@each_row(
    ("line", "needs"),
    [
        ("ln -s ../lib/foo bin/foo", []),
        ("ln -s ../a b/c/", []),
        ("ln -s -t bin ../a ../b", []),
        ("ln -st bin ../a", []),
        ("ln -s src/a b", []),
        ("ln -s ../a", ["../a"]),
        ("ln -s ../outside x", ["../outside"]),
        ("ln -sfn ../../outside a/x", ["../../outside"]),
        ("ln -s -t bin ../../a", ["../../a"]),
        ("ln -sr ../outside bin/x", ["../outside"]),
        ("ln ../outside bin/x", ["../outside"]),
        ("ln -s /etc/hosts x", ["/etc/hosts"]),
        ("ln -s ../a .", ["../a"]),
        ("ln -s ../a b/..", ["../a"]),
        ("cd a && ln -s ../b/c x", []),
        ("cd a && ln -s ../outside ../x", ["../outside"]),
        ("cd a/b && ln -s ../../c ../x", ["../../c"]),
        ("cd a; ln -s ../b x", []),
        ("mkdir -p a; cd a; ln -s ../b x", ["../b"]),
    ],
)
def test_a_target_is_seen_from_its_link(line: str, needs: list[str]) -> None:
    """The kernel follows a symbolic link from the folder in which it lies; a hard one is found from where `ln` runs."""
    assert needed(line) == needs


@each_row(
    ("line", "needs"),
    [
        ("ln -s a/b x && cat x", ["x"]),
        ("ln -s a/b x && cat ./x/y", ["./x/y"]),
        ("ln -s a/b x && cat c/../x/y", ["c/../x/y"]),
        ("ln -s a/b x && cat x/../y", ["x/../y"]),
        ("ln -s a/b x; cat *", ["*"]),
        ("ln -s a/b x; cat [w-y]", ["[w-y]"]),
        ("ln -s a/b x; cat X", ["X"]),
        (f"ln -s a/b x; cat {WS}/x/y", [f"{WS}/x/y"]),
        ("ln -s a/b x; cat <x", ["x"]),
        ("ln -s a/b d; cat d/b", ["d/b"]),
        ("ln -s -t d a/b; cat d/b", ["d/b"]),
        ("ln -s a/b; cat b", ["b"]),
        ("ln a/b x; cat x", ["x"]),
        ("ln -s a/b x; frob x", ["x"]),
        ("ln -s a/b x & cat x", ["x"]),
        ("cat x | ln -s a/b x", ["x"]),
        ("for i in 1 2; do cat x; ln -sf a/b x; done", ["x"]),
        ("ln -s a d/l; mv d e", ["d"]),
        ("ln -s a d/l; cp -a . ../ws2", [".", "../ws2"]),
        ("timeout 5 ln -s a x; cat x", ["x"]),
        ("sh -c 'ln -s a x; cat x'", ["x"]),
        ("ln -s a/b x; ls -la; cat y", []),
        ("cat x; rm x; ln -s a/b x", []),
        ("mv a b && cat b", []),
        ("cp -a a b && cat b/c", []),
    ],
)
def test_a_word_over_a_link_of_the_line_has_to_be_mentioned(line: str, needs: list[str]) -> None:
    """Wherever the new name stands, and whichever command may run after the link is made."""
    assert sorted(needed(line)) == sorted(needs)


@pytest.mark.parametrize(
    "line", ["tar -xf a.tar && cat x", "tar xf a.tar && cat x", "tar -xf a.tar -C d && cat e", "git clone u d; cat d/x"]
)
def test_what_comes_out_of_an_archive_may_be_a_link(line: str) -> None:
    """Nobody has seen the members of an archive, or the files of a repository that is cloned."""
    assert "leads over a link" in str(analyse([line], WS).commands[-1].needs)


def test_tar_that_only_lists_makes_nothing() -> None:
    """`tar -tf` leaves the disk as it is."""
    assert needed("tar -tf a.tar && cat x") == []


def test_a_loop_over_names_behind_a_link_of_the_line_is_covered_by_nothing() -> None:
    """The shell itself would list what lies there."""
    assert analyse(["ln -s a x; for f in x/*; do echo b; done"], WS).unsupported is not None
