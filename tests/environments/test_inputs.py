"""What makes another build, and what does not."""

import json
from contextlib import closing

import pytest

from codegate.environments import Recipe, inputs
from codegate.environments.inputs import base_of, manifests, needed_toolchains
from codegate.environments.services import Server
from codegate.sandbox import Backend, Command, NotInstalled
from codegate.suite import Tree, TreeFile
from tests.kit.images import image_with_packages

PYPROJECT = """
[build-system]
requires = ["setuptools", "setuptools_scm"]
[project]
name = "shop"
version = "1.0"
dependencies = ["six"]
[dependency-groups]
dev = ["pytest"]
[tool.uv]
constraint-dependencies = ["attrs<25"]
[tool.setuptools-scm]
version_file = "shop/_version.py"
[tool.ruff]
line-length = 100
"""
PACKAGE = {
    "name": "shop",
    "version": "1.0.0",
    "dependencies": {"hono": "4"},
    "scripts": {"test": "vitest", "postinstall": "node build.js"},
}
FILES = {
    "pyproject.toml": PYPROJECT,
    "web/package.json": json.dumps(PACKAGE),
    "uv.lock": "version = 1\n",
    "services/go.mod": "module shop\n",
    "dev-requirements.txt": "six\n",
    "requirements/base.txt": "attrs\n",
    ".python-version": "3.13\n",
    "scripts/install": "pip install -e .\n",
    "Makefile": "deps:\n\tgo mod download\n",
    "shop.py": "PRICE = 1\n",
}
RECIPE = Recipe(setup=("./scripts/install --quiet", "make deps"))


def read(path: str = "shop.py", text: str = FILES["shop.py"]) -> dict[str, str]:
    """Return what counts of the files, of which one has another text."""
    return manifests(RECIPE, Tree({name: TreeFile(old.encode()) for name, old in {**FILES, path: text}.items()}))


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("pyproject.toml", '["six"]', '["six>=1"]'),
        ("pyproject.toml", '["pytest"]', '["pytest", "tox"]'),
        ("pyproject.toml", "attrs<25", "attrs<26"),
        ("pyproject.toml", "_version.py", "_version2.py"),
        ("pyproject.toml", '"setuptools", ', ""),
        ("web/package.json", '"4"', '"5"'),
        ("web/package.json", "node build.js", "node other.js"),
        ("uv.lock", "1", "2"),
        ("services/go.mod", "shop", "store"),
        ("dev-requirements.txt", "six", "attrs"),
        ("requirements/base.txt", "attrs", "six"),
        (".python-version", "3.13", "3.14"),
        ("scripts/install", "-e .", "-e .[dev]"),
        ("Makefile", "download", "tidy"),
    ],
)
def test_what_set_up_reads_makes_another_build(path: str, before: str, after: str) -> None:
    assert before in FILES[path]
    assert read(path, FILES[path].replace(before, after)) != read()


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("pyproject.toml", 'version = "1.0"', 'version = "1.1"'),
        ("pyproject.toml", "100", "120"),
        ("web/package.json", "1.0.0", "1.0.1"),
        ("web/package.json", "vitest", "vitest run"),
        ("shop.py", "1", "2"),
    ],
)
def test_other_changes_make_none(path: str, before: str, after: str) -> None:
    assert before in FILES[path]
    assert read(path, FILES[path].replace(before, after)) == read()


def test_files_count_that_set_up_names_from_the_recipes_folder() -> None:
    recipe = Recipe(folder="services", setup=("sh prepare.sh",))
    files = Tree({"services/prepare.sh": TreeFile(b"true\n"), "prepare.sh": TreeFile(b"true\n")})
    assert "services/prepare.sh" in manifests(recipe, files)


@pytest.mark.parametrize("text", ["[project", "\udcff", "a = " + "[" * 5000])
def test_a_manifest_that_cannot_be_read_counts_whole(text: str) -> None:
    def of(data: bytes) -> dict[str, str]:
        return manifests(RECIPE, Tree({"pyproject.toml": TreeFile(data), "package.json": TreeFile(data)}))

    data = text.encode("utf-8", "surrogateescape")
    assert of(data) == of(data)
    assert set(of(data).items()).isdisjoint(of(data + b" ").items())


def test_toolchains_are_those_that_the_recipe_names_or_the_tree_implies() -> None:
    tree = Tree({path: TreeFile(text.encode()) for path, text in FILES.items()})
    assert needed_toolchains(Recipe(), tree) == {"python", "node", "go"}
    assert needed_toolchains(Recipe(tools={"go": "1.26"}), tree) == {"python", "go"}
    assert needed_toolchains(Recipe(folder="services"), tree) == {"go"}


@pytest.mark.parametrize(
    ("recipe", "cause"),
    [
        (Recipe(tools={"ruby": "1.0"}), "this machine has no ruby 1.0"),
        (Recipe(tools={"node": "1", "ruby": "1.0"}), "this machine has no ruby 1.0"),
        (Recipe(packages=("no-such-package",)), "no-such-package"),
    ],
)
def test_what_a_recipe_asks_for_and_this_machine_lacks_is_not_installed(
    recipe: Recipe, cause: str, bwrap_backend: Backend
) -> None:
    with pytest.raises(NotInstalled, match=cause):
        base_of(recipe, Tree({}), bwrap_backend)


def test_a_server_that_this_machine_lacks_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, bwrap_backend: Backend
) -> None:
    server = Server("acme", run="", ready="", program="no-such-program", package="acme-server")
    monkeypatch.setattr(inputs, "servers_of", lambda _: (server,))
    with pytest.raises(NotInstalled, match=r"acme needs the program 'no-such-program'.*apt-get install acme-server"):
        base_of(Recipe(services=("redis",)), Tree({}), bwrap_backend)


@pytest.mark.docker
def test_a_server_that_the_image_lacks_is_installed_in_it_and_what_apt_does_not_know_is_not(
    docker_backend: Backend,
) -> None:
    with image_with_packages("redis-server") as image:
        with pytest.raises(NotInstalled, match="Unable to locate package tinyer"):
            base_of(Recipe(image=image, packages=("tinyer",)), Tree({}), docker_backend)
        assert base_of(Recipe(image=image), Tree({}), docker_backend).environment.system == ()
        base = base_of(Recipe(image=image, services=("redis",)), Tree({}), docker_backend)
        assert base.environment.system == ("redis-server",)
        with closing(base.open(docker_backend)) as sandbox:
            assert sandbox.run(Command(("redis-server",))).stdout == b"served\n"
