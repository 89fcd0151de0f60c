"""The parts of `scripts/chaos_service.py`."""
