"""Servers beside the tests: their data is made by the build, and each command meets them as the build left them."""

import os
import shutil
from collections.abc import Callable
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from codegate.environments import Recipe, ServiceRecipe, obtain_build
from codegate.environments.services import (
    NOT_STARTED,
    SandboxWithServers,
    Server,
    servers_of,
    service_variables,
    with_servers,
)
from codegate.errors import UsageError
from codegate.sandbox import Backend, Command, Completed, Sandbox, SandboxError
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.suite import Tree, TreeFile
from tests.kit.recorded import LIMITS

SERVE = "import http.server as s; s.HTTPServer(('127.0.0.1', 8123), s.SimpleHTTPRequestHandler).serve_forever()"
ASK = "import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:8123/').status)"


TREE = Tree({"notes.txt": TreeFile(b"a tree of its own, whose build no other run has kept\n")})


class World:
    """A recorded build of a recipe with servers, in bubblewrap."""

    def __init__(self, backend: Backend, recipe: Recipe) -> None:
        self.servers, self.backend = servers_of(recipe), backend
        self.prepared = backend.prepare(obtain_build(recipe, TREE, backend, day=date(2026, 1, 1)).environment)

    def open(self) -> Sandbox:
        return self.backend.open(self.prepared, LIMITS)

    def run(self, sandbox: Sandbox, line: str) -> Completed:
        return sandbox.run(with_servers(Command(("bash", "-e", "-c", line), stdin=b"said\n"), self.servers))


@pytest.fixture
def built(bwrap_backend: BubblewrapBackend) -> Callable[[Recipe], World]:
    """Makes environments in bubblewrap."""
    return lambda recipe: World(bwrap_backend, recipe)


def needs(program: str) -> None:
    if shutil.which(program, path=f"{os.defpath}:/usr/sbin:/usr/local/bin") is None and not list(
        Path("/usr/lib/postgresql").glob(f"*/bin/{program}")
    ):
        pytest.skip(f"this machine has no {program}")


@pytest.mark.requirement("M10")
def test_postgres_serves_the_user_and_the_database_that_the_recipe_names(built: Callable[[Recipe], World]) -> None:
    needs("initdb")
    world = built(Recipe(services=("postgres",), env={"POSTGRES_USER": "shop", "POSTGRES_DB": "cart"}))
    ask = 'PATH="$PATH:$(echo /usr/lib/postgresql/*/bin)"; psql -tA "$DATABASE_URL" -c'
    with closing(world.open()) as sandbox:
        made = world.run(sandbox, f"{ask} 'create table price (value int); insert into price values (7)'")
        assert made.ok, made.stderr.decode()
        kept = world.run(sandbox, f"{ask} 'select value, current_user from price'")
        assert kept.stdout.decode().strip() == "7|shop"
    with closing(world.open()) as sandbox:
        assert not world.run(
            sandbox, f"{ask} 'select value from price'"
        ).ok  # another sandbox begins as the build ended


@pytest.mark.requirement("M10")
@pytest.mark.full
def test_mysql_serves_the_user_and_the_database_that_the_recipe_names(built: Callable[[Recipe], World]) -> None:
    needs("mariadbd")
    env = {"MYSQL_USER": "shop", "MYSQL_PASSWORD": "it's", "MYSQL_DATABASE": "cart"}
    world = built(Recipe(services=("mysql",), env=env))
    with closing(world.open()) as sandbox:
        ask = 'mariadb --no-defaults -h "$MYSQL_HOST" -u shop -p"$MYSQL_PASSWORD" cart -N -e "select 3 + 4, user()"'
        done = world.run(sandbox, ask)
    assert done.stdout.decode().split() == ["7", "shop@localhost"], done.stderr.decode()


@pytest.mark.requirement("M10")
def test_redis_serves(built: Callable[[Recipe], World]) -> None:
    needs("redis-server")
    world = built(Recipe(services=("redis",)))
    with closing(world.open()) as sandbox:
        done = world.run(sandbox, 'redis-cli -u "$REDIS_URL" set price 7 && redis-cli -u "$REDIS_URL" get price')
    assert done.stdout.decode().split() == ["OK", "7"]


def test_any_other_server_is_a_command_and_the_tests_keep_their_input_and_status(
    built: Callable[[Recipe], World],
) -> None:
    ready = f'python3 -c "{ASK}"'
    world = built(Recipe(services=(ServiceRecipe(run=f'exec python3 -c "{SERVE}"', ready=ready),)))
    with closing(world.open()) as sandbox:
        done = world.run(sandbox, f"cat; {ready}; exit 3")
        assert (done.stdout.decode().split(), done.exit_code) == (["said", "200"], 3)
        assert world.run(sandbox, f"exit {NOT_STARTED}").exit_code == 1
        assert world.run(sandbox, "kill -9 $$").signal == 9
        reported = with_servers(Command(("sh", "-c", "echo told >&3", "{records}"), records=True), world.servers)
        assert sandbox.run(reported).records == b"told\n"


def test_a_server_that_ends_is_named_with_what_it_printed(built: Callable[[Recipe], World]) -> None:
    world = built(Recipe(services=(ServiceRecipe(run="echo no disk; exit 4", ready="false"),)))
    with closing(world.open()) as sandbox:
        done = world.run(sandbox, "echo never")
    assert (done.exit_code, done.stdout) == (NOT_STARTED, b"")
    assert done.stderr == b"the service echo ended with status 4; it printed last: no disk\n"


def test_a_preset_that_does_not_start_is_a_fault_of_the_sandbox_until_something_else_ran(
    built: Callable[[Recipe], World],
) -> None:
    world = built(Recipe())
    servers = (Server("redis", run="exit 5", ready="false", program="redis-server"),)
    with closing(world.open()) as sandbox:
        served = SandboxWithServers(sandbox, servers)
        with pytest.raises(SandboxError, match="the service redis ended with status 5"):
            served.run(Command(("true",)))
        assert served.run(Command(("true",))).exit_code == NOT_STARTED
        assert SandboxWithServers(sandbox, ()).run(Command(("sh", "-c", "exit 5"))).exit_code == 5


def test_an_unknown_preset_and_an_absent_program_are_named() -> None:
    with pytest.raises(UsageError, match="no preset 'oracle'") as error:
        servers_of(Recipe(services=("oracle",)))
    assert "`postgres`" in str(error.value.remedy)
    (server,) = servers_of(Recipe(services=("redis",)))
    assert "redis-server" in str(server.absent())


def test_the_address_of_a_server_is_in_variables() -> None:
    found = service_variables(Recipe(services=("postgres", "redis"), env={"POSTGRES_PASSWORD": "secret"}))
    assert found["DATABASE_URL"] == "postgres://postgres:secret@127.0.0.1:5432/postgres"
    assert found["REDIS_URL"] == "redis://127.0.0.1:6379/0"
