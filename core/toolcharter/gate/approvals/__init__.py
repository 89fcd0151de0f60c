"""Approvals: the question to a person about a call, the digest that the answer is bound to, and saved answers."""
