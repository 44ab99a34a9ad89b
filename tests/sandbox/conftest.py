"""Images of layers, which are large, go with the tests that made them."""

import time
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any

import pytest
from docker import APIClient
from docker.utils import kwargs_from_env

from codegate.sandbox import Command, Completed, Sandbox, layer_images
from codegate.sandbox.docker import DockerBackend
from codegate.sandbox.docker_container import RUN_LABEL


@pytest.fixture(scope="module")
def layers_removed() -> Iterator[None]:
    """Remove the images of layers that a module's tests make."""
    make, images = layer_images.layered_image, set[str]()

    def made(*arguments: Any) -> str:
        image = make(*arguments)
        images.add(image)
        return image

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layer_images, "layered_image", made)
        yield
    if images:
        with closing(APIClient(timeout=60, **kwargs_from_env())) as client:
            for image in images:
                with suppress(Exception):  # a container that is being removed may still have it
                    client.remove_image(image, force=True)


@pytest.fixture
def own(docker_backend: DockerBackend) -> Iterator[DockerBackend]:
    """A backend of the test's own: what it left is what the test left. The shared one proves that a daemon is here."""
    with closing(DockerBackend(f"test-{time.monotonic_ns()}")) as backend:
        yield backend


@pytest.fixture
def client(docker_backend: DockerBackend) -> Iterator[APIClient]:
    with closing(APIClient(timeout=60, **kwargs_from_env())) as client:
        yield client


def shell(sandbox: Sandbox, text: str) -> Completed:
    """Run a line of shell."""
    return sandbox.run(Command(("sh", "-c", text)))


def containers(client: APIClient, of: DockerBackend | str) -> list[Any]:
    """Return the containers of a backend, or of a run."""
    run_id = of if isinstance(of, str) else of.run_id
    return list(client.containers(all=True, filters={"label": f"{RUN_LABEL}={run_id}"}))
