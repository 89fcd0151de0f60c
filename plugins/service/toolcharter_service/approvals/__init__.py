"""Approvals as records: a call's question waits in the store, so an approver can answer it at any process."""

from toolcharter_service.approvals.asking import ASKING, Asking, RecordApprover, keep_approvals
from toolcharter_service.approvals.records import ApprovalRecord
from toolcharter_service.approvals.routes import routes

__all__ = ["ASKING", "ApprovalRecord", "Asking", "RecordApprover", "keep_approvals", "routes"]
