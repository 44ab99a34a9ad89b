"""Images of layers, which are large, go with the tests that made them."""

from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any

import pytest
from docker import APIClient
from docker.utils import kwargs_from_env

from codegate.sandbox import layer_images


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
        with closing(APIClient(**kwargs_from_env())) as client:
            for image in images:
                with suppress(Exception):  # a container that is being removed may still have it
                    client.remove_image(image, force=True)
