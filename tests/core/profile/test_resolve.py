"""Which file a profile's name means: nothing below the current folder replaces an installed profile or its parents."""

import os
from pathlib import Path

import pytest

from toolcharter.errors import ConfigurationError
from toolcharter.profile.find import find_names, folders
from toolcharter.profile.read import list_profiles, load_profile, read_profile

BASE = "profile: base\ntools: {read_file: {}}\n"
OTHER_BASE = "profile: base\nmode: dangerous\nrunner: host\ntools: {bash: {}}\n"
MIDDLE = "profile: middle\nextends: [base]\n"
TOP = "profile: top\nextends: [middle]\n"
INSTALLED = [pytest.param("shipped", id="shipped"), pytest.param("plugin", id="plugin")]


@pytest.fixture(autouse=True)
def shipped(tmp_path, monkeypatch) -> Path:
    """Stand in for the shipped profiles."""
    folder = tmp_path / "shipped"
    monkeypatch.setattr("toolcharter.profile.find.shipped_profiles", lambda: folder)
    return folder


@pytest.fixture
def search(tmp_path) -> list[Path]:
    """The folder of a plugin's profiles."""
    return [tmp_path / "plugin"]


def install(write, folder: str) -> None:
    for name, text in (("base", BASE), ("middle", MIDDLE), ("top", TOP)):
        write(f"{folder}/{name}.yaml", text)


def meaning(profile: str | Path, search) -> tuple[str, list[str]]:
    """The mode of the profile, and the files that were read."""
    source = read_profile(profile, search=search)
    assert source.faults == []
    assert source.profile is not None
    return source.profile.mode, list(map(str, source.files))


def refusal(profile: str | Path, search) -> str:
    with pytest.raises(ConfigurationError) as refused:
        load_profile(profile, search=search)
    return str(refused.value)


def is_refused(profile: str | Path, search) -> bool:
    return "means different profiles" in refusal(profile, search)


COPIES = [
    pytest.param({"base": OTHER_BASE}, id="another parent alone"),
    pytest.param({"middle": MIDDLE, "base": OTHER_BASE}, id="a copy with another parent"),
    pytest.param({"top": TOP, "base": OTHER_BASE}, id="a copy of the top, another grandparent"),
    pytest.param({"top": TOP, "middle": MIDDLE, "base": OTHER_BASE}, id="copies but for the last parent"),
    pytest.param({"top": TOP, "middle": MIDDLE}, id="copies whose parent is installed"),
    pytest.param({"top": TOP, "middle": MIDDLE, "base": BASE}, id="copies of all"),
]


@pytest.mark.parametrize("installed", INSTALLED)
@pytest.mark.parametrize("copies", COPIES)
@pytest.mark.parametrize("how", ["name", "extends beside", "extends from elsewhere", "extends by path"])
def test_an_installed_profile_is_never_replaced(write, tmp_path, search, installed, copies, how) -> None:
    """Whatever lies in ./profiles: an installed profile's name gives the installed files, or an error."""
    install(write, installed)
    for name, text in copies.items():
        write(f"profiles/{name}.yaml", text)
    asked: dict[str, str | Path] = {
        "name": "top",
        "extends beside": Path(write("profiles/mine.yaml", "profile: mine\nextends: [top]")),
        "extends from elsewhere": tmp_path / write("home/mine.yaml", "profile: mine\nextends: [top]"),
        "extends by path": Path(write("mine.yaml", f"profile: mine\nextends: [./{installed}/top.yaml]")),
    }

    differs = {"top", "middle", "base"} <= copies.keys() and copies["base"] != BASE
    if differs and how != "extends by path":
        assert is_refused(asked[how], search)
    else:
        files = list(map(os.path.realpath, meaning(asked[how], search)[1]))
        assert files[-3:] == [str(tmp_path / installed / f"{name}.yaml") for name in ("top", "middle", "base")]


def test_a_copy_whose_parents_differ_is_refused_by_both_names(write, shipped, search) -> None:
    """The text is the same, the profile is another: the error names both files."""
    install(write, "shipped")
    write("profiles/middle.yaml", MIDDLE)
    write("profiles/base.yaml", OTHER_BASE)

    assert refusal("middle", search).splitlines()[0] == (
        f"profile 'middle': the name 'middle' means different profiles: 'profiles/middle.yaml' and '{shipped}/middle.yaml'."
    )


def test_a_parent_of_the_users_that_bears_an_installed_name_is_refused_where_it_is_named(
    write, shipped, search
) -> None:
    """`extends` of one's own profile means the installed one, too; a path says that another is meant."""
    install(write, "shipped")
    write("profiles/base.yaml", OTHER_BASE)
    write("profiles/mine.yaml", "profile: mine\nextends: [base]")
    write("profiles/chosen.yaml", "profile: chosen\nextends: [./base.yaml]")

    assert refusal("mine", search).splitlines()[0] == (
        f"profiles/mine.yaml:2:11: extends.0: the name 'base' means different profiles: "
        f"'profiles/base.yaml' and '{shipped}/base.yaml'."
    )
    assert meaning("chosen", search) == ("dangerous", ["profiles/chosen.yaml", "profiles/base.yaml"])


def test_a_shipped_profile_has_shipped_parents_only(write, shipped, search) -> None:
    """Neither ./profiles nor a plugin gives a shipped profile a parent, not even one that is missing."""
    write("shipped/middle.yaml", MIDDLE)
    for folder in ("profiles", "plugin"):
        write(f"{folder}/base.yaml", OTHER_BASE)

    assert refusal("middle", search) == (
        f"{shipped}/middle.yaml:2:11: extends.0: there is no profile named 'base'.\nLooked in: '{shipped}'."
    )


def test_a_plugins_profile_has_installed_parents_only(write, shipped, tmp_path, search) -> None:
    """A plugin's own folder comes first, then what is installed; ./profiles never counts."""
    write("plugin/middle.yaml", MIDDLE)
    write("plugin/top.yaml", TOP)
    write("profiles/base.yaml", OTHER_BASE)

    assert "there is no profile named 'base'" in refusal("top", search)
    write("shipped/base.yaml", BASE)
    assert meaning("top", search) == (
        "policy",
        [str(tmp_path / "plugin/top.yaml"), str(tmp_path / "plugin/middle.yaml"), str(shipped / "base.yaml")],
    )


def test_a_plugins_profile_does_not_replace_a_shipped_parent(write, search) -> None:
    """The name of a shipped profile means the shipped one in plugins, too."""
    install(write, "shipped")
    write("plugin/base.yaml", OTHER_BASE)
    write("plugin/mine.yaml", "profile: mine\nextends: [base]")

    assert is_refused("mine", search)


@pytest.mark.parametrize("way", ["link to the folder", "the folder itself"])
def test_where_profiles_is_the_shipped_folder_its_files_are_the_shipped_ones(write, shipped, tmp_path, way) -> None:
    """In a checkout of the core, and by a link, ./profiles is no other folder."""
    install(write, "shipped")
    if way == "link to the folder":
        (tmp_path / "profiles").symlink_to(shipped)
    else:
        shipped.rename(tmp_path / "profiles")
        shipped.symlink_to(tmp_path / "profiles")

    assert meaning("top", ()) == ("policy", [f"profiles/{name}.yaml" for name in ("top", "middle", "base")])


def test_a_link_to_a_shipped_profile_does_not_lend_it_other_parents(write, shipped, tmp_path) -> None:
    """A link lies in its own folder, and its parents would be those that lie beside it."""
    install(write, "shipped")
    write("profiles/base.yaml", OTHER_BASE)
    (tmp_path / "profiles/middle.yaml").symlink_to(shipped / "middle.yaml")
    write("mine.yaml", "profile: mine\nextends: [./profiles/middle.yaml, ./shipped/middle.yaml]")

    faults = [str(fault) for fault in read_profile(Path("mine.yaml")).faults]

    assert is_refused("middle", ())
    (fault,) = faults
    assert fault.splitlines()[0] == (
        "./profiles/middle.yaml:2:11: extends.0: the name 'base' means different profiles: "
        f"'./profiles/base.yaml' and '{shipped}/base.yaml'."
    )


def test_copies_that_extend_each_other_are_told_apart(write, search) -> None:
    """Profiles that extend each other end the comparison, whoever wrote them."""
    for folder in ("profiles", "plugin"):
        write(f"{folder}/a.yaml", "profile: a\nextends: [b]")
        write(f"{folder}/b.yaml", "profile: b\nextends: [a]")

    assert is_refused("a", search)


def test_users_own_profiles_extend_each_other_by_name(write, shipped) -> None:
    """Beside the profile first, then in ./profiles; a name that is not installed has no rival."""
    install(write, "shipped")
    write("profiles/team.yaml", "profile: team\nextends: [middle]")
    write("agents/one.yaml", "profile: one\nextends: [team]")
    write("agents/two.yaml", "profile: two\nextends: [near]")
    write("agents/near.yaml", "profile: near\nmode: ask")
    write("profiles/near.yaml", "profile: near\nmode: restrict")

    rest = [str(shipped / "middle.yaml"), str(shipped / "base.yaml")]
    assert meaning("agents/one.yaml", ()) == ("policy", ["agents/one.yaml", "profiles/team.yaml", *rest])
    assert meaning("agents/two.yaml", ()) == ("ask", ["agents/two.yaml", "agents/near.yaml"])


def test_the_inventory_of_names_holds_every_file(write, shipped, search) -> None:
    """What bears a name is listed with all files, equal ones too: whoever protects them needs each."""
    install(write, "shipped")
    write("profiles/base.yaml", BASE)
    write("profiles/base.yml", BASE)
    write("plugin/own.yaml", "profile: own")

    assert folders(search) == ["profiles", str(shipped), str(search[0])]
    assert find_names(search) == {
        "base": ["profiles/base.yaml", "profiles/base.yml", f"{shipped}/base.yaml"],
        "middle": [f"{shipped}/middle.yaml"],
        "own": [f"{search[0]}/own.yaml"],
        "top": [f"{shipped}/top.yaml"],
    }


def test_a_list_tells_copies_with_other_parents_apart(write, shipped, search) -> None:
    """`profiles` shows the clash that the start would refuse."""
    install(write, "shipped")
    write("profiles/middle.yaml", MIDDLE)
    write("profiles/base.yaml", OTHER_BASE)

    found = [(one.name, one.place, len(one.faults)) for one in list_profiles(search)]

    # The copy has two faults: its own name is ambiguous, and so is its parent's.
    assert found == [
        ("base", "profiles/base.yaml", 1),
        ("base", f"{shipped}/base.yaml", 1),
        ("middle", "profiles/middle.yaml", 2),
        ("middle", f"{shipped}/middle.yaml", 1),
        ("top", f"{shipped}/top.yaml", 0),
    ]
