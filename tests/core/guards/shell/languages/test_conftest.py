"""The witness sees what it is there to see."""

import pytest

pytestmark = pytest.mark.needs_program("strace")


def test_what_a_script_does_is_seen(watch) -> None:
    """Programs, files written and files read are told apart; the input is none of them."""
    deeds = watch(["sed", "w out\n1e true\n1r other", "in"], patience=[60])

    assert (deeds.started[:1], deeds.written, deeds.read) == (["/bin/sh"], ["out"], ["other"])


def test_reading_the_input_is_no_deed(watch) -> None:
    """A script that only prints has done nothing."""
    assert watch(["sed", "-n", "p", "in"], patience=[60]) == ([], [], [])
