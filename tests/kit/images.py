"""Images that tests make on the daemon."""

import contextlib
import io
import time
from collections.abc import Iterator
from typing import Any

from docker import APIClient
from docker.utils import kwargs_from_env

_CONTROL = "Package: {name}\\nVersion: 1\\nArchitecture: all\\nMaintainer: a <a@example.org>\\nDescription: t\\n"
_DOCKERFILE = """\
FROM python:3.11-slim-bookworm
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


@contextlib.contextmanager
def image_with_packages(name: str) -> Iterator[str]:
    """Give the id of an image whose only package repository is a folder of its own, with the program ``name``."""
    dockerfile = _DOCKERFILE.format(name=name, control=_CONTROL.format(name=name)).encode("ascii")
    tag = f"codegate-test:{time.monotonic_ns()}"
    with contextlib.closing(APIClient(timeout=120, **kwargs_from_env())) as client:
        lines = client.build(fileobj=io.BytesIO(dockerfile), tag=tag, rm=True, decode=True, network_mode="none")
        assert [line for line in lines if "error" in line] == []
        image: Any = client.inspect_image(tag)  # type: ignore[no-untyped-call]  # untyped in types-docker
        try:
            yield str(image["Id"])
        finally:
            with contextlib.suppress(Exception):  # another image stands on it
                client.remove_image(tag, force=True)
