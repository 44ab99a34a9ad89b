"""Packages for indexes that tests serve themselves."""

import hashlib
import io
import zipfile
from collections.abc import Iterable, Mapping

from tests.kit.http import Reply


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
