"""Base images are named by content before anything is recorded about them."""

import io
import os
import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

import pytest
from docker import APIClient

from codegate.sandbox import (
    Command,
    EnvironmentRecipe,
    NotInstalled,
    SandboxError,
    SandboxLimits,
    Unreachable,
    preflight,
)
from codegate.sandbox.docker import DockerBackend
from codegate.sandbox.images import BASE_IMAGE, base_image, pin_image
from tests.conftest import PYTHON
from tests.kit.http import Reply, Request, Server, as_json
from tests.sandbox.conftest import containers

pytestmark = pytest.mark.docker


@pytest.mark.requirement("S4")
def test_an_image_is_pinned_to_what_it_is_now(client: APIClient) -> None:
    name = os.environ.get("CODEGATE_BASE_IMAGE") or BASE_IMAGE.format(python=PYTHON)
    tag = "codegate-test-pin:moves"
    client.tag(name, "codegate-test-pin", tag="moves")
    try:
        pinned = pin_image(client, tag)
    finally:
        client.remove_image(tag)  # the tag is gone, what it stood for is not
    assert "sha256:" in pinned
    assert base_image(client, PYTHON, pinned) == base_image(client, PYTHON)
    assert pin_image(client, pinned) == pinned


@pytest.mark.parametrize(("answers", "kind"), [(404, NotInstalled), (500, Unreachable)])
def test_an_image_that_its_registry_lacks_is_not_installed_and_a_registry_that_fails_is_a_fault(
    client: APIClient, answers: int, kind: type[SandboxError]
) -> None:
    def respond(request: Request) -> Reply:
        error = {"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown", "detail": {}}]}
        is_manifest = request.path != "/v2/"
        return as_json(error, answers if is_manifest else 200, Docker_Distribution_API_Version="registry/2.0")

    with closing(Server(respond)) as registry, pytest.raises(SandboxError, match="cannot be pulled") as raised:
        pin_image(client, f"{registry.url.removeprefix('http://')}/codegate/image:1")
    assert type(raised.value) is kind


@contextmanager
def crafted(client: APIClient, *instructions: str) -> Iterator[str]:
    """Give the id of an image of the usual base and some instructions, which is removed at the end."""
    base = base_image(client, PYTHON)
    tag = f"codegate-test-crafted:{secrets.token_hex(4)}"
    text = "\n".join([f"FROM {base}", *instructions])
    lines = list(client.build(fileobj=io.BytesIO(text.encode()), tag=tag, rm=True, decode=True, network_mode="none"))
    assert not [line for line in lines if "error" in line], lines
    try:
        yield str(client.inspect_image(tag)["Id"])  # type: ignore[no-untyped-call]
    finally:
        client.remove_image(tag, force=True)


def test_what_a_hostile_image_says_of_itself_changes_nothing_but_the_variables_of_commands(
    docker_backend: DockerBackend, client: APIClient, empty: EnvironmentRecipe
) -> None:
    instructions = (
        "ENV PYTHONPATH=/evil PYTHONSTARTUP=/evil.py LD_PRELOAD=/evil.so BASH_ENV=/evil.sh ENV=/evil.sh PYTHONHOME=/x",
        "WORKDIR /proc/self/fd/7",
        "USER root",
        'ENTRYPOINT ["/bin/sh", "-c", "sleep 600"]',
        'CMD ["evil"]',
        "HEALTHCHECK --interval=1s CMD touch /tmp/health",
        "STOPSIGNAL SIGWINCH",
        "EXPOSE 80",
        "LABEL codegate.deadline=0 codegate.owner=nobody codegate.run=none codegate.environment=mine",
        'SHELL ["/evil"]',
    )
    backend = DockerBackend(f"hostile-{secrets.token_hex(4)}")
    with crafted(client, *instructions) as image:
        environment = backend.prepare(replace(empty, image=image))
        assert preflight(backend, environment).words.startswith("verified (docker")
        sandbox = backend.open(environment, SandboxLimits())
        (container,) = containers(client, backend)
        seen: Any = client.inspect_container(container["Id"])
        config = seen["Config"]
        assert (config["User"], config["WorkingDir"], config["Cmd"]) == ("10001:10001", "/workspace", [])
        assert config["Entrypoint"][0] == "python3"
        assert config["Healthcheck"]["Test"] == ["NONE"]
        assert config["Labels"]["codegate.deadline"] != "0"
        shown = sandbox.run(Command(("sh", "-c", "pwd; ls -A /tmp"))).stdout.decode()
        assert "/workspace\n" in shown
        assert "health" not in shown
        assert b"preload" not in sandbox._session._enclosure.connection.errors  # type: ignore[attr-defined]
        backend.close()
        client.remove_image(environment.image, force=True)


@pytest.mark.parametrize("instruction", ["VOLUME /data", "ONBUILD RUN touch /evil"])
def test_an_image_that_would_act_by_itself_is_refused(
    docker_backend: DockerBackend, client: APIClient, empty: EnvironmentRecipe, instruction: str
) -> None:
    with (
        crafted(client, instruction) as image,
        pytest.raises(SandboxError, match=rf"\({instruction.split(maxsplit=1)[0]}\).*without that instruction"),
    ):
        docker_backend.prepare(replace(empty, image=image))


@pytest.mark.parametrize(
    "image",
    ["python:3.11-slim-bookworm", "--volume=/etc:/leak", f"a b@sha256:{'0' * 64}", f"evil@sha256:{'0' * 63}", "-", "@"],
)
def test_an_image_that_a_suite_names_by_a_tag_is_refused(client: APIClient, image: str) -> None:
    with pytest.raises(SandboxError, match="is no name by content"):
        base_image(client, PYTHON, image)
