"""Jobs that name an image of their own: those that the profile lists, and no others."""

import docker
import pytest
from tests.sandbox.dockerd import Dockerd

from toolcharter import Denied, Job, ToolError

from .conftest import OpenDocker, needs_docker, shell

pytestmark = [*needs_docker, pytest.mark.slow]
SECOND, THIRD = "toolcharter-second:1", "toolcharter-third:1"


@pytest.fixture
def images(dockerd: Dockerd) -> None:
    """Two more names: of the same files, and of the same with a program of its own."""
    client = docker.APIClient(base_url=dockerd.host, version="auto")
    client.tag(dockerd.image, SECOND.split(":", maxsplit=1)[0], tag="1")
    made = client.create_container(dockerd.image, ["/bin/true"])["Id"]
    changes = 'ENTRYPOINT ["/bin/echo", "own"]\nCMD ["words"]'
    client.commit(made, THIRD.split(":", maxsplit=1)[0], tag="1", changes=changes)
    client.remove_container(made)
    client.close()


@pytest.mark.usefixtures("images")
def test_a_listed_image_runs(open_docker: OpenDocker) -> None:
    """Its own program, too, with the image's words or those of the job."""
    runner = open_docker(images=[SECOND, THIRD])

    def said(*argv: str, image: str) -> bytes:
        return runner.run(Job(argv, image=image)).stdout

    assert runner.run(shell("echo in", image=SECOND)).stdout == b"in\n"
    assert said("", image=THIRD) == b"own words\n"
    assert said("", "others", image=THIRD) == b"own others\n"
    assert said("/bin/echo", "else", image=THIRD) == b"else\n"


@pytest.mark.usefixtures("images")
def test_any_other_does_not(open_docker: OpenDocker) -> None:
    """One that is not listed, one that the daemon lacks, one without a program."""
    runner = open_docker(images=["nowhere:1", SECOND])

    for image, word in ((THIRD, "does not allow the image"), ("nowhere:1", "never pulls images")):
        with pytest.raises(Denied, match=word) as denied:
            runner.run(shell("true", image=image))
        assert denied.value.reason == "sandbox_unavailable"
    with pytest.raises(ToolError) as failed:
        runner.run(Job(("",), image=SECOND))
    assert failed.value.reason == "program_not_found"
