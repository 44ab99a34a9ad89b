"""Every backend keeps the whole contract."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext

import pytest

from codegate.sandbox import Backend, EnvironmentRecipe, Layer
from codegate.sandbox.conformance import BUILD_CHECKS, CHECKS, Check, Subject, builds, checks_of, commands, files, relay
from tests.kit.kept import own_cache


@pytest.fixture(scope="module")
def subject(backend: Backend, empty: EnvironmentRecipe) -> Subject:
    return Subject(backend, empty)


#: What is Docker's own among the checks of what the supervisor does, which is one program on both.
OWN = {
    "streams", "output_caps", "records", "placeholders", "fixed_environment", "faithful_files", "many_files",
    "relayed_bytes",
}  # fmt: skip
SUPERVISED = [check for module in (commands, files, relay) for check in checks_of(module)]


@pytest.mark.parametrize(
    ("backend", "check"),
    [
        pytest.param(
            name,
            check,
            id=f"{name}-{check.__name__}",
            marks=[getattr(pytest.mark, name)]
            + [pytest.mark.full] * (name == "docker" and check in SUPERVISED and check.__name__ not in OWN),
        )
        for name in ("docker", "bwrap")
        for check in CHECKS
    ],
    indirect=["backend"],
)
@pytest.mark.requirement("S2")
def test_backend_conforms(check: Check, subject: Subject) -> None:
    check(subject)


@pytest.fixture(scope="module")
def built_once(subject: Subject, layers_removed: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let all checks of a backend look at the same builds, of which no sandbox may change anything."""
    build, found = builds.build_layer, dict[str, Layer]()

    def built(subject: Subject, program: str, layer: Layer | None = None) -> AbstractContextManager[Layer]:
        if layer is not None:
            return build(subject, program, layer)
        if program not in found:
            found[program] = stack.enter_context(build(subject, program))
        return nullcontext(found[program])

    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        patch.setenv("CODEGATE_CACHE", own_cache(tmp_path_factory.mktemp("cache")))  # the layers go with the tests
        patch.setattr(builds, "build_layer", built)
        yield


@pytest.mark.usefixtures("built_once")
@pytest.mark.parametrize("check", BUILD_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.requirement("S2")
def test_backend_conforms_in_recorded_builds(check: Check, subject: Subject) -> None:
    check(subject)
