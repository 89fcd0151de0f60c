"""Stores: found by the scheme of their URL, opened without a connection, and never shown with their URL."""

import pytest

from toolcharter.errors import PluginError
from toolcharter.loader.stores import open_bus

SECRET = "hunter" + "2"
URL = f"wire://amy:{SECRET}@h/{SECRET}"
OPENS = """
    class Wire:
        has_full_text = True

        def __init__(self, url):
            self.url = url

        def keeps_state_in(self):
            return ()

        def _used(self, *_, **__):
            raise StoreUnavailable("nobody listens")

        migrate = require_current = transact = seal = unseal = close = _used

    @hookimpl
    def open_store(url):
        return Wire(url)
"""


def test_a_store_is_found_by_its_scheme(site, load) -> None:
    """Its plugin is loaded and part of the digest; it gets the URL whole."""
    site.extension("acme-wire", "wire", source=OPENS)

    loaded = load(store=URL)

    assert loaded.open_store(URL, "p.yaml:9:8").url == URL
    assert loaded.distributions == {"acme-wire": "1.0"}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param(
            "    @hookimpl\n    def open_sink(url):\n        return None\n",
            "p.yaml:9:8: store: acme_wire of acme-wire 1.0 implements no hook open_store, so it opens no store 'wire:'.\n"
            "Write the URL of a store, such as 'sqlite:'.",
            id="opens-none",
        ),
        pytest.param(
            "    @hookimpl\n    def open_store(url):\n        raise ValueError(f'no such place: {url}')\n",
            "p.yaml:9:8: store: the URL of the store 'wire:' cannot be used: ValueError: no such place: (the URL)\n"
            "Correct the URL.",
            id="cannot-be-used",
        ),
        pytest.param(
            "    @hookimpl\n    def open_store(url):\n        raise OSError(url)\n",
            "p.yaml:9:8: store: the hook open_store of acme-wire 1.0 raised OSError: (the URL)\n"
            "Correct the URL, or install another version.",
            id="raises",
        ),
        pytest.param(
            "    @hookimpl\n    def open_store(url):\n        return object()\n",
            "p.yaml:9:8: store: the hook open_store of acme-wire 1.0 returned object, which has no keeps_state_in.\n"
            "The plugin's author has to fix it.",
            id="returns-no-engine",
        ),
    ],
)
def test_what_opens_no_store_is_told(source: str, message: str, site, load) -> None:
    """With the place in the profile, and without the URL."""
    site.extension("acme-wire", "wire", source=source)

    with pytest.raises(PluginError) as refused:
        load(store=URL).open_store(URL, "p.yaml:9:8")

    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("url", "fix"),
    [
        pytest.param("postgresql://h/x", "Install the distribution toolcharter-postgresql.", id="ours"),
        pytest.param("wire:", "Installed extensions: none.", id="unknown"),
    ],
)
def test_a_store_that_is_not_installed_is_told(url: str, fix: str, load) -> None:
    """With what to install, if it is one of ours."""
    with pytest.raises(PluginError) as refused:
        load(store=url)

    name = url.partition(":")[0]
    assert str(refused.value) == f"p.yaml:9:8: store: no installed plugin provides a store named {name!r}.\n{fix}"


PARTS = "publish subscribe queue create get delete lease renew release holder health close"
BUS = """
    class Wire:
        def __init__(self, url):
            self.url = url

        def _used(self, *_, **__):
            raise BusUnavailable("nobody listens")

        PARTS = _used

    @hookimpl
    def open_bus(url):
        return Wire(url)
""".replace("PARTS", PARTS.replace(" ", " = "))


def test_a_bus_is_found_by_its_scheme_and_gets_its_url(site, index) -> None:
    """For hosts, which name it by its URL alone."""
    site.extension("acme-wire", "wire", source=BUS)

    assert open_bus(URL, index=index()).url == URL  # type: ignore[attr-defined] # of the plugin's own class


@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param(
            OPENS,
            "bus 'wire:': bus: acme_wire of acme-wire 1.0 implements no hook open_bus, so it opens no bus 'wire:'.\n"
            "Write the URL of a bus, such as 'nats://127.0.0.1:4222'.",
            id="opens-stores",
        ),
        pytest.param(
            "    @hookimpl\n    def open_bus(url):\n        raise ValueError(f'no such place: {url}')\n",
            "bus 'wire:': bus: the URL of the bus 'wire:' cannot be used: ValueError: no such place: (the URL)\n"
            "Correct the URL.",
            id="cannot-be-used",
        ),
        pytest.param(
            "    @hookimpl\n    def open_bus(url):\n        return object()\n",
            "bus 'wire:': bus: the hook open_bus of acme-wire 1.0 returned object, which has no publish.\n"
            "The plugin's author has to fix it.",
            id="returns-no-bus",
        ),
    ],
)
def test_what_opens_no_bus_is_told(source: str, message: str, site, index) -> None:
    """Without the URL."""
    site.extension("acme-wire", "wire", source=source)

    with pytest.raises(PluginError) as refused:
        open_bus(URL, index=index())

    assert str(refused.value) == message


def test_a_bus_that_is_not_installed_is_told(index) -> None:
    """With what to install, if it is one of ours."""
    with pytest.raises(PluginError, match="Install the distribution toolcharter-nats"):
        open_bus("nats://h", index=index())
