"""What the README says of roles, settings and routes is what there is."""

import re
from pathlib import Path

from toolcharter_service.auth.config import AuthConfig, ClaimMapping, JwtIssuer, Oidc, SessionConfig
from toolcharter_service.auth.principal import CallerScope, Role


def test_roles_and_settings_are_described(project_root: Path) -> None:
    """Each of them, and no other."""
    text = (project_root / "plugins/service/README.md").read_text()
    section = text.partition("## Principals and their rights")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(?:auth\.)?(\w+)` \|", section, re.MULTILINE)
    inner = {name for model in (JwtIssuer, Oidc, SessionConfig, ClaimMapping) for name in model.model_fields}

    assert rows == [*Role, *AuthConfig.model_fields]
    assert {name for name in inner if f"`{name}`" not in section} == set()
    assert all(scope in section for scope in CallerScope)
