"""Recorded builds on a real daemon: their images, what bounds them, and what is refused."""

import io
import platform
import sys
import tarfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from docker import APIClient

from codegate.errors import UsageError
from codegate.sandbox import (
    Command,
    EnvironmentRecipe,
    Layer,
    SandboxError,
    SandboxLimits,
    Unreachable,
    remove_layer_images,
)
from codegate.sandbox.docker import DockerBackend
from codegate.sandbox.tools import uv_program
from tests.kit.images import image_of, image_with_packages
from tests.sandbox.conftest import containers, shell
from tests.sandbox.test_layers import EMPTY, FILE, LINK, Member, layer_of, tar

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("layers_removed")]

PLAIN = EnvironmentRecipe("3.11")
LIMITS = SandboxLimits(lifetime_seconds=120, memory_bytes=256 << 20, disk_bytes=64 << 20)


def write_layer(archive: Path, *members: Member) -> Layer:
    """Write an archive that no other test has the image of, and return its layer."""
    archive.write_bytes(tar(*EMPTY, ("env/unique", FILE, str(time.monotonic_ns()).encode()), *members).getvalue())
    return layer_of(archive)


@pytest.fixture
def repository(docker_backend: DockerBackend) -> Iterator[str]:
    """An image whose only package repository has the program ``tiny``."""
    with image_with_packages("tiny") as image:
        yield image


def test_no_build_brings_the_interpreter_of_the_supervisor(own: DockerBackend, tmp_path: Path) -> None:
    planted = ("env/bin", tarfile.DIRTYPE, ""), ("env/bin/python3", FILE, b"#!/bin/sh\nexit 1\n")
    also = ("tree", tarfile.DIRTYPE, ""), ("tree/python3", FILE, b"#!/bin/sh\nexit 1\n")
    layer = write_layer(tmp_path / "layer.tar", *planted, *also)
    with image_of("ENV PATH=/opt/env/bin:/tmp/../workspace:.:$PATH") as image:
        sandbox = own.open(own.prepare(replace(PLAIN, image=image, layer=layer)), LIMITS)
        done = sandbox.run(Command(("{python}", "-c", "import sys; print(sys.executable)")))
    assert done.stdout.startswith(b"/usr/"), done


@pytest.mark.parametrize("late", [False, True], ids=["a member", "the last byte"])
def test_a_hostile_archive_leaves_nothing(own: DockerBackend, client: APIClient, tmp_path: Path, late: bool) -> None:
    members = () if late else (("env/a", LINK, "/etc"), ("env/a/passwd", FILE, b"root::0:0:::\n"))
    layer = write_layer(tmp_path / "layer.tar", ("env/large", FILE, b"x" * (3 << 20)), *members)
    if late:
        layer = replace(layer, sha256="0" * 64)
    for _ in range(2):  # the second time shows that the first left no image
        with pytest.raises(SandboxError, match="has changed since" if late else "does not come after its folder"):
            own.prepare(replace(PLAIN, layer=layer))
        assert containers(client, own) == []


def test_system_packages_are_installed_once_and_count_in_the_identity(
    own: DockerBackend, client: APIClient, repository: str, tmp_path: Path
) -> None:
    recipe = replace(PLAIN, image=repository, system=("tiny",))
    build = own.open_build(recipe, LIMITS)
    assert shell(build, "stat -c %U /usr/bin/tiny; id -u; echo $TOOLS_HOME").stdout == b"root\n10001\n/opt/tools\n"
    build.freeze([], tmp_path / "layer.tar")
    layer = layer_of(tmp_path / "layer.tar")
    environment = own.prepare(replace(recipe, layer=layer))
    assert shell(own.open(environment, LIMITS), "tiny; echo $TOOLS_HOME").stdout == b"served\n/opt/tools\n"
    without = own.prepare(replace(recipe, layer=layer, system=()))
    assert without.identity != environment.identity
    used = [one["ImageID"] for one in containers(client, own)]
    own.open_build(recipe, LIMITS)
    assert [one["ImageID"] for one in containers(client, own) if one["ImageID"] not in used] == []


def test_a_package_that_apt_does_not_know_is_named_with_its_words(own: DockerBackend, repository: str) -> None:
    with pytest.raises(SandboxError, match=r"tiny, tinyer cannot be installed.*Unable to locate package tinyer"):
        own.open_build(replace(PLAIN, image=repository, system=("tinyer", "tiny")), LIMITS)
    with pytest.raises(UsageError, match="no name of a system package"):
        own.open_build(replace(PLAIN, image=repository, system=("tiny; touch /x",)), LIMITS)


@pytest.mark.parametrize("lost", ["an index", "a package"])
def test_an_index_that_cannot_be_reached_does_not_lack_a_package(own: DockerBackend, lost: str) -> None:
    index = "echo 'deb [trusted=yes] http://127.0.0.1:1/ ./' >> /etc/apt/sources.list"
    with image_with_packages("tiny", index if lost == "an index" else "rm /repository/tiny.deb") as image:
        recipe = replace(PLAIN, image=image, system=("tinyer" if lost == "an index" else "tiny",))
        with pytest.raises(SandboxError, match="cannot be installed in the base image") as raised:
            own.open_build(recipe, LIMITS)
        assert type(raised.value) is Unreachable
        assert "exit 75" not in raised.value.cause, "the script's own words"
        if lost == "an index":  # nothing of it is needed here
            assert shell(own.open_build(replace(recipe, system=("tiny",)), LIMITS), "tiny").stdout == b"served\n"


def test_an_image_without_python_says_what_to_add(own: DockerBackend, client: APIClient) -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("empty"))
    tag = f"codegate-test:{time.monotonic_ns()}"
    client.import_image_from_data(file.getvalue(), *tag.split(":"))
    try:
        image: Any = client.inspect_image(tag)  # type: ignore[no-untyped-call]  # untyped in types-docker
        with pytest.raises(SandboxError, match="has no python3") as raised:
            own.open_build(replace(PLAIN, image=image["Id"]), LIMITS)
        assert "packages" in raised.value.remedy
    finally:
        client.remove_image(tag, force=True)


def test_an_image_with_an_old_python_says_what_to_take(own: DockerBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codegate.sandbox.session._LEAST_PYTHON", (99, 0))
    with pytest.raises(SandboxError, match=r"python3 is 3\.11; its supervisor needs"):
        own.open_build(PLAIN, LIMITS)


def test_uv_for_another_system_comes_from_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    program = uv_program(platform.machine())
    assert program.read_bytes()[:4] == b"\x7fELF"
    assert uv_program(platform.machine()) == program


def test_images_whose_environment_is_gone_are_removed_and_those_of_other_caches_stay(
    own: DockerBackend, client: APIClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images: dict[str, str] = {}
    for cache, name in (("other", "one"), ("own", "two"), ("own", "kept")):
        (tmp_path / cache).mkdir(exist_ok=True)
        monkeypatch.setenv("CODEGATE_CACHE", str(tmp_path / cache))
        layer = write_layer(tmp_path / f"{name}.tar")
        own.prepare(replace(PLAIN, layer=layer))
        images[name] = layer.sha256
    count, size = remove_layer_images({images["kept"]})
    assert (count, size > 0) == (1, True)
    found = {name: client.images(filters={"label": f"codegate.layer={sha256}"}) for name, sha256 in images.items()}
    assert {name for name, left in found.items() if left} == {"one", "kept"}
