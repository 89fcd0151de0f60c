"""The parts of `scripts/fuzz_service.py`: pools of requests, the service that answers them, checks of answers."""
