"""Runs the snippets of a plugin's README with names that stand for a model or a client."""

from typing import Any

from pages import ROOT, Block, blocks

from .contract import Place


def front_page(language: str) -> Block:
    """The first block of *language* in the README's section "Give it to your agent", which has to be its first."""
    section = (ROOT / "README.md").read_text().split("\n## ")[1]
    assert section.startswith("Give it to your agent")
    return next(block for block in blocks(section) if block.language == language)


def run_readme(name: str, place: Place, monkeypatch: Any, **given: Any) -> None:
    """Run the blocks `python host` of `plugins/NAME/README.md`, one after the other, in the workspace of *place*.

    Args:
        name: Of the plugin's folder.
        place: Whose folder.
        monkeypatch: Goes there and comes back.
        given: Names that the snippets use and do not define.
    """
    monkeypatch.chdir(place.workspace)
    snippets = [block for block in blocks((ROOT / "plugins" / name / "README.md").read_text()) if "host" in block.words]
    assert snippets
    names = dict(given)
    for block in snippets:
        exec(compile(block.text, f"README.md:{block.line}", "exec"), names)
    names["host"].close()
