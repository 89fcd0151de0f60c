"""Every installed plugin keeps the contract; whether its reasons are reached is judged when the whole run ends."""

from toolcharter.testing.contract import contract_of

TestContract = contract_of(
    open_defaults={"git": {"allowed_branches": "allow_push is false and allowed_remotes is empty"}}
)
