"""Images of layers, which are large, go with the tests that made them."""

from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any

import pytest
from docker import APIClient
from docker.utils import kwargs_from_env

from codegate.sandbox import layer_images


@pytest.fixture
def layers_removed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Remove the images of layers that are made during a test."""
    make, images = layer_images.layered_image, set[str]()

    def made(*arguments: Any) -> str:
        image = make(*arguments)
        images.add(image)
        return image

    monkeypatch.setattr(layer_images, "layered_image", made)
    yield
    if images:
        with closing(APIClient(**kwargs_from_env())) as client:
            for image in images:
                with suppress(Exception):  # a container that is being removed may still have it
                    client.remove_image(image, force=True)
