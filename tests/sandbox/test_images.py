"""Base images are named by content before anything is recorded about them."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from codegate.sandbox import SandboxError
from codegate.sandbox.docker import DockerBackend
from codegate.sandbox.images import BASE_IMAGE, base_image, pin_image
from tests.conftest import PYTHON

if TYPE_CHECKING:
    from docker import APIClient

pytestmark = pytest.mark.docker


@pytest.fixture
def client(docker_backend: DockerBackend) -> Iterator["APIClient"]:
    from docker import APIClient
    from docker.utils import kwargs_from_env

    found = APIClient(timeout=60, **kwargs_from_env())
    yield found
    found.close()


def test_an_image_is_pinned_to_what_it_is_now(client: "APIClient") -> None:
    name = os.environ.get("CODEGATE_BASE_IMAGE") or BASE_IMAGE.format(python=PYTHON)
    tag = "codegate-test-pin:moves"
    client.tag(name, "codegate-test-pin", tag="moves")
    try:
        pinned = pin_image(client, tag)
    finally:
        client.remove_image(tag)  # the tag is gone, what it stood for is not
    assert "sha256:" in pinned
    assert base_image(client, PYTHON, pinned) == base_image(client, PYTHON, name)
    assert pin_image(client, pinned) == pinned


def test_an_image_that_is_nowhere_is_named(client: "APIClient") -> None:
    with pytest.raises(SandboxError, match="codegate-no-such/image:1 is not on this Docker daemon"):
        pin_image(client, "codegate-no-such/image:1")
