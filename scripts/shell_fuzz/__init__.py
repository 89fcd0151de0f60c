"""The parts of `scripts/fuzz_shell.py`: lines, their judge, the sandbox that runs them, and its observations."""
