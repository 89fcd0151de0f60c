"""Approvals as records: a call's question waits in the store, so an approver can answer it at any process."""

from toolcharter_service.approvals.record_approver import REQUESTER, RecordApprover, Requester, maintain_approvals
from toolcharter_service.approvals.records import ApprovalRecord
from toolcharter_service.approvals.routes import routes

__all__ = ["REQUESTER", "ApprovalRecord", "RecordApprover", "Requester", "maintain_approvals", "routes"]
