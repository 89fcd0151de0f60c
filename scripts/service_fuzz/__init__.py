"""The parts of `scripts/fuzz_service.py`: requests in pools, the service that answers them, and what answers have to be."""
