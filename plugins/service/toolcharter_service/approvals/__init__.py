"""Approvals as records: a call waits in the store for an approver, whoever serves the request."""

from toolcharter_service.approvals.asking import ASKING, Asking, RecordApprover, keep_approvals
from toolcharter_service.approvals.records import ApprovalRecord
from toolcharter_service.approvals.routes import routes

__all__ = ["ASKING", "ApprovalRecord", "Asking", "RecordApprover", "keep_approvals", "routes"]
