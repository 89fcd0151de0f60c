"""A store that is restored from an archive while the service runs: all of the process believes what is there now."""

from pathlib import Path

import httpx
import pytest
from tests.plugins.service.serving import configured, serving
from tests.waiting import until

from toolcharter import open_store
from toolcharter_service.auth import Role
from toolcharter_service.auth.tokens import NewToken, create_token
from toolcharter_service.custom.records import CustomTool
from toolcharter_service.http.app import create_app
from toolcharter_service.service import Service
from toolcharter_stores import archive

pytestmark = pytest.mark.slow
PROFILE = """
profile: restored
description: Has what the store holds.
runner: host
extensions: {registry: {extend: true}, mcp_bridge: {extend: true, registered: true, servers: {}}}
allow: ["custom:*"]
"""
SOON_S = 60.0


def test_a_running_service_hears_of_a_restored_store(tmp_path: Path) -> None:
    """A token that the archive does not hold is refused, and its tools are there, within seconds and from then on."""
    (tmp_path / "db").mkdir(mode=0o700)
    place = f"sqlite:///{tmp_path}/db/store.db"
    service = Service(configured(tmp_path, {"bot": PROFILE}), stores=open_store(place))
    new = NewToken(name="kept", roles=(Role.CALLER,), agents=("bot",))
    kept, later = (create_token("acme", one, "test") for one in (new, new.model_copy(update={"name": "later"})))
    with serving(create_app(service)) as url, httpx.Client(base_url=url, trust_env=False, timeout=60) as client:

        def status(token: str) -> int:
            return client.get("/v1/tools", headers={"Authorization": f"Bearer {token}"}).status_code

        def tools() -> set[str]:
            answer = client.get("/v1/tools", headers={"Authorization": f"Bearer {kept.text}"}).json()
            return {tool["name"] for tool in answer["tools"]}

        service.store("").put(kept.record)
        service.store("acme").put(CustomTool(name="first", command="echo 1"))
        until(lambda: "first" in tools(), within_s=SOON_S)
        with open_store(place) as other:
            archive.backup(other.engine, tmp_path / "archive")
            service.store("").put(later.record)
            service.store("acme").put(CustomTool(name="second", command="echo 2"))
            until(lambda: "second" in tools() and status(later.text) == 200, within_s=SOON_S)
            archive.restore(tmp_path / "archive", other.engine, from_elsewhere=True)

        until(lambda: status(later.text) == 401, within_s=SOON_S)
        until(lambda: "second" not in tools(), within_s=SOON_S)
        service.store("acme").put(CustomTool(name="third", command="echo 3"))
        until(lambda: tools() >= {"first", "third"}, within_s=SOON_S)
        service.store("").delete(type(kept.record), kept.record.digest)
        until(lambda: status(kept.text) == 401, within_s=SOON_S)
