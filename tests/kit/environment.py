"""Environments of tests: recorded builds of an empty tree. A machine builds each once, and keeps it (``conftest``)."""

from collections.abc import Mapping
from datetime import date
from typing import Final

from codegate.environments import Recipe, environment_of
from codegate.grading import Sandboxes
from codegate.sandbox import Backend
from codegate.suite import Environment

PYTHON: Final = "3.11"
PYTEST: Final = "pytest==8.3.4"
DAY: Final = date(2026, 11, 1)
"""Package indexes answer as of its end."""


def recorded(name: str, *setup: str, env: Mapping[str, str] | None = None, **tools: str) -> Environment:
    """Return the environment that the commands ``setup`` leave; it is built when it is needed.

    Args:
        name: its id.
        setup: the command lines.
        env: variables of set-up and of tests.
        tools: toolchains by name, with their versions.
    """
    return environment_of(name, Recipe(tools=tools, setup=setup, env=dict(env or {})), "", day=DAY)


def with_packages(name: str, *requirements: str) -> Environment:
    """Return an environment of Python packages; what is tested may also be in a folder ``src``."""
    return recorded(name, f"uv pip install {' '.join(requirements)}", env={"PYTHONPATH": "src"}, python=PYTHON)


PLAIN: Final = with_packages("tests", PYTEST)
"""Python with pytest."""


# Without it each sandbox would compile the standard library anew.
_WARM = """\
mkdir warm && cd warm && go mod init warm >/dev/null 2>&1
cat >warm_test.go <<'end'
package warm

import (
	_ "bytes"
	_ "flag"
	_ "fmt"
	_ "math/rand"
	_ "net"
	_ "os/exec"
	_ "path/filepath"
	_ "reflect"
	_ "regexp"
	_ "runtime/debug"
	_ "sort"
	_ "strings"
	_ "testing"
	_ "time"
)
end
go test -c -vet=off && cd .. && rm -r warm"""
MODULE: Final = "module example.com/shop\n\ngo 1.21\n"
WITH_GO: Final = recorded("go", _WARM, go="1.26")
"""Go, with its standard library compiled."""


def with_node(name: str, *packages: str) -> Environment:
    """Return an environment of Node with packages of npm in the tree's ``node_modules``."""
    install = f"npm install {' '.join(packages)} && rm package.json package-lock.json"
    return recorded(name, *([install] if packages else []), node="22")


WITH_NODE: Final = with_node("node")


def sandboxes_of(backend: Backend, *environments: Environment, ahead: int = 0) -> Sandboxes:
    """Return sandboxes that know ``environments``; the caller closes them."""
    found = Sandboxes(backend, {}, ahead)
    for environment in environments:
        found.register(environment)
    return found
