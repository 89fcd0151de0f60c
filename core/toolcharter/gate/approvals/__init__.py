"""Approvals: what a person is asked about a call, what the answer is bound to, and what is kept of it."""
