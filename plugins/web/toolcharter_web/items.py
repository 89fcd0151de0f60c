"""`Item`: one element that `html_scraper` returns, and how it is shown."""

from typing import TypedDict


class Item(TypedDict):
    """One element."""

    tag: str
    text: str
    attributes: dict[str, str]


def line(item: Item) -> str:
    """*item* as the model reads it."""
    attributes = "".join(f" {name}={value!r}" for name, value in item["attributes"].items())
    return f"<{item['tag']}{attributes}> {item['text']}"
