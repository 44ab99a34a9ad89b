"""Images that tests make on the daemon."""

import contextlib
import io
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

from docker import APIClient
from docker.utils import kwargs_from_env

from codegate.sandbox.images import BASE_IMAGE

PYTHON = "3.11"
_CONTROL = "Package: {name}\\nVersion: 1\\nArchitecture: all\\nMaintainer: a <a@example.org>\\nDescription: t\\n"
_PACKAGES = """\
USER 0
ENV TOOLS_HOME=/opt/tools
RUN mkdir -p /repository/package/DEBIAN /repository/package/usr/bin && cd /repository && \
    printf '#!/bin/sh\\necho served' > package/usr/bin/{name} && chmod 755 package/usr/bin/{name} && \
    printf '{control}' > package/DEBIAN/control && dpkg-deb -b package {name}.deb && \
    {{ cat package/DEBIAN/control; echo Filename: ./{name}.deb; echo Size: $(stat -c %s {name}.deb); \
    echo SHA256: $(sha256sum {name}.deb | cut -d' ' -f1); }} > Packages && \
    rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/* && \
    echo 'deb [trusted=yes] file:/repository ./' > /etc/apt/sources.list
"""


def image_with_packages(name: str, then: str = "true") -> AbstractContextManager[str]:
    """Give the id of an image whose only package repository is a folder of its own, with the program ``name``.

    The command ``then`` changes something about it.
    """
    return image_of(f"{_PACKAGES.format(name=name, control=_CONTROL.format(name=name))}RUN {then}\n")


@contextlib.contextmanager
def image_of(dockerfile: str) -> Iterator[str]:
    """Give the id of the usual image with the instructions ``dockerfile`` carried out in it."""
    text = f"FROM {BASE_IMAGE.format(python=PYTHON)}\n{dockerfile}\n".encode("ascii")
    tag = f"codegate-test:{time.monotonic_ns()}"
    with contextlib.closing(APIClient(timeout=120, **kwargs_from_env())) as client:
        lines = client.build(fileobj=io.BytesIO(text), tag=tag, rm=True, decode=True, network_mode="none")
        assert [line for line in lines if "error" in line] == []
        image: Any = client.inspect_image(tag)  # type: ignore[no-untyped-call]  # untyped in types-docker
        try:
            yield str(image["Id"])
        finally:
            for one in (*reversed(_standing_on(client, str(image["Id"]))), tag):
                with contextlib.suppress(Exception):  # a container that is being removed may still have it
                    client.remove_image(one, force=True)


def _standing_on(client: APIClient, image: str) -> list[str]:
    """Return the ids of the images that were made from ``image``, the lowest first."""
    every, found = client.images(all=True), [image]
    for below in found:
        found += [str(one["Id"]) for one in every if one["ParentId"] == below]
    return found[1:]
