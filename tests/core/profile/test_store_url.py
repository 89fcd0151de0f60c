"""`store:` in a profile: a URL or a variable, in the digest without its password."""

from dataclasses import replace

import pytest

from toolcharter import ConfigurationError
from toolcharter.profile.field_types import StoreUrl, is_store_url
from toolcharter.profile.model import Profile

SECRET = "hunter" + "2"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        pytest.param("sqlite:", "sqlite:", id="a-scheme"),
        pytest.param("sqlite:/var/x.db", "sqlite:/var/x.db", id="a-file"),
        pytest.param(f"postgresql://amy:{SECRET}@h:5/x", "postgresql://amy@h:5/x", id="a-password"),
        pytest.param(f"postgresql://amy:{SECRET}/@{SECRET}@h/x", "postgresql://amy@h/x", id="one-that-is-not-encoded"),
        pytest.param(f"redis://h/0?password={SECRET}", "redis://h/0", id="in-the-query"),
        pytest.param(f"sqlite:/x?key={SECRET}", "sqlite:/x", id="in-the-query-of-a-file"),
    ],
)
def test_the_digest_holds_no_password(url: str, shown: str) -> None:
    """What decides where records are is in it all the same."""
    profile, other = Profile("p", store=StoreUrl(url)), Profile("p", store=StoreUrl(url.replace("h", "j")))
    digests = {each.digest({}, {}, {}) for each in (profile, replace(profile, store=StoreUrl(shown)))}

    assert StoreUrl(url).without_password() == shown
    assert len(digests) == 1
    assert Profile("p").digest({}, {}, {}) not in digests
    assert (other.digest({}, {}, {}) in digests) == ("h" not in shown)


def test_a_variable_holds_the_url() -> None:
    """It is read at each start; the digest holds its name."""
    store = StoreUrl("", "STORE", "p.yaml:3:1")

    assert store.resolve_url({"STORE": "sqlite:"}) == "sqlite:"
    assert store.without_password() == store.to_plain() == {"env": "STORE"}


@pytest.mark.parametrize(("environ", "what"), [({}, "is not set"), ({"STORE": SECRET}, "does not hold a URL")])
def test_a_variable_without_a_url_stops_the_start(environ: dict[str, str], what: str) -> None:
    """What it holds is not shown."""
    with pytest.raises(ConfigurationError) as refused:
        StoreUrl("", "STORE", "p.yaml:3:1").resolve_url(environ)

    assert str(refused.value) == f"p.yaml:3:1: store: the variable 'STORE' {what}.\nSet it to a URL such as `sqlite:`."


@pytest.mark.parametrize("text", ["", "sqlite", "/x", "Sqlite:", "1:", ":", "é:", "a b:"])
def test_what_is_no_url(text: str) -> None:
    """A scheme is letters, digits and `+` before a colon."""
    assert not is_store_url(text)
