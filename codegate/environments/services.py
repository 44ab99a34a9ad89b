"""Servers that run while the tests run.

The build prepares them, and each command that needs them starts them in its own sandbox. A server's data is part of the
recorded build, so that every sandbox begins with the same data.
"""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import resources
from typing import Final
from urllib.parse import quote

from typing_extensions import override

from codegate.environments.recipe import Recipe
from codegate.errors import UsageError
from codegate.sandbox import Command, Completed, NotInstalled, Sandbox, SandboxError, SandboxFile

NOT_STARTED: Final = 121
"""Exit code of a command whose servers did not start; its standard error has the reason."""
DATA: Final = "/opt/env/services"
"""Folder with a folder of data for each server, by the server's name."""
# Debian puts Postgres' programs in a folder per version, and those of other servers in /usr/sbin.
_FIND: Final = 'PATH="$PATH:/usr/sbin:$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)"'
_LOG: Final = ">/dev/null"


@dataclass(frozen=True)
class Server:
    """One server that runs while the tests run.

    Attributes:
        name: name of the preset, or the first word of the command.
        run: the command line that starts it in the foreground.
        ready: a command line that succeeds once it accepts connections.
        program: the program that the sandbox needs; empty if unknown.
        package: Debian's package with the program.
        prepare: command lines that the build runs, to create its data.
        variables: environment variables that give tests its address.
    """

    name: str
    run: str
    ready: str
    program: str = ""
    package: str = ""
    prepare: str = ""
    variables: tuple[tuple[str, str], ...] = ()

    @property
    def present(self) -> str:
        """Return a command line that checks whether the program exists."""
        return f"{_FIND}; command -v {shlex.quote(self.program)} {_LOG}" if self.program else "true"

    def absent(self) -> NotInstalled:
        """Return the error that says which program is missing."""
        return NotInstalled(
            f"environment.services: {self.name} needs the program {self.program!r}, which is not in the sandbox.",
            f"Add {self.package} to `packages`, which Docker installs; elsewhere `apt-get install {self.package}`.",
        )


def servers_of(recipe: Recipe) -> tuple[Server, ...]:
    """Return the servers of a recipe.

    Presets take the names of users and databases from the recipe's variables.

    Raises:
        UsageError: the recipe names a preset that does not exist.
    """
    found = []
    for one in recipe.services:
        if not isinstance(one, str):
            found.append(Server(one.run.split()[0], one.run, one.ready))
        elif one in _PRESETS:
            found.append(_PRESETS[one](recipe.env))
        else:
            known = ", ".join(f"`{name}`" for name in _PRESETS)
            raise UsageError(
                f"environment.services: there is no preset {one!r}.",
                f"Name one of {known}, or write {{run: …, ready: …}}.",
            )
    return tuple(found)


def service_variables(recipe: Recipe) -> dict[str, str]:
    """Return the variables that give tests the servers' addresses."""
    return {name: value for server in servers_of(recipe) for name, value in server.variables}


class SandboxWithServers(Sandbox):
    """A sandbox that starts servers for each of its commands.

    ``run`` raises SandboxError if a preset, such as ``postgres``, does not start for the first command. Otherwise a
    command whose servers do not start has the exit code ``NOT_STARTED``.
    """

    def __init__(self, sandbox: Sandbox, servers: tuple[Server, ...]) -> None:
        self._sandbox, self._servers, self._fresh = sandbox, servers, True

    @override
    def put(self, files: tuple[SandboxFile, ...]) -> None:
        self._sandbox.put(files)

    @override
    def run(self, command: Command) -> Completed:
        fresh, self._fresh = self._fresh, False
        done = self._sandbox.run(with_servers(command, self._servers))
        printed = done.stderr.decode("utf-8", "replace")
        ours = any(printed.startswith(f"the service {one.name} ") for one in self._servers if one.program)
        if fresh and ours and done.exit_code == NOT_STARTED:
            raise SandboxError(printed.strip(), "Look at `services` of `environment:` in codegate.yml.")
        return done

    @override
    def close(self) -> None:
        self._sandbox.close()


def with_servers(command: Command, servers: tuple[Server, ...]) -> Command:
    """Return the command, wrapped so that servers run with it.

    The servers stop when it has ended, and get neither its standard input nor its records pipe.
    """
    if not servers:
        return command
    listed = json.dumps([{"name": one.name, "run": one.run, "ready": one.ready} for one in servers])
    program = resources.files("codegate.environments.drivers").joinpath("services_driver.py").read_text("utf-8")
    return replace(command, argv=("{python}", "-I", "-S", "-B", "-c", program, listed, *command.argv))


def _postgres(env: Mapping[str, str]) -> Server:
    user = env.get("POSTGRES_USER") or "postgres"
    database = env.get("POSTGRES_DB") or user
    password = env.get("POSTGRES_PASSWORD") or "postgres"
    data = f"{DATA}/postgres"
    sql = [f'CREATE DATABASE "{database}";'] if database != "postgres" else []
    sql += ["CREATE ROLE postgres SUPERUSER LOGIN;"] if user != "postgres" else []
    settings = "fsync=off full_page_writes=off synchronous_commit=off listen_addresses=* unix_socket_directories=/tmp"
    options = " ".join(f"-c {shlex.quote(each)}" for each in settings.split())
    return Server(
        name="postgres",
        program="initdb",
        package="postgresql",
        prepare=f"{_FIND}; mkdir -p {DATA}\n"
        f"initdb -D {data} -U {shlex.quote(user)} -A trust -E UTF8 --locale=C.UTF-8 {_LOG}\n"
        f"printf '%s\\n' {' '.join(map(shlex.quote, sql or [';']))} | postgres --single -D {data} template1 {_LOG}",
        run=f"{_FIND}; exec postgres -D {data} -p 5432 {options}",
        ready=f"{_FIND}; pg_isready -q -h 127.0.0.1 -p 5432",
        variables=(
            ("PGHOST", "127.0.0.1"),
            ("PGPORT", "5432"),
            ("PGUSER", user),
            ("PGPASSWORD", password),
            ("PGDATABASE", database),
            ("DATABASE_URL", f"postgres://{quote(user)}:{quote(password)}@127.0.0.1:5432/{database}"),
        ),
    )


def _redis(_env: Mapping[str, str]) -> Server:
    return Server(
        name="redis",
        program="redis-server",
        package="redis-server",
        run="exec redis-server --port 6379 --bind 127.0.0.1 --save '' --appendonly no --dir /tmp",
        ready="redis-cli -h 127.0.0.1 ping | grep -q PONG",
        variables=(("REDIS_URL", "redis://127.0.0.1:6379/0"),),
    )


def _mysql(env: Mapping[str, str]) -> Server:
    user, database = env.get("MYSQL_USER") or "root", env.get("MYSQL_DATABASE") or "test"
    password = env.get("MYSQL_PASSWORD" if env.get("MYSQL_USER") else "MYSQL_ROOT_PASSWORD") or ""
    data, socket = f"{DATA}/mysql", "/tmp/mysql.sock"  # noqa: S108 - in the sandbox
    sql = [f"CREATE DATABASE IF NOT EXISTS `{database}`;", "FLUSH PRIVILEGES;"]
    for host in ("localhost", "127.0.0.1", "%"):
        account = f"{_sql_text(user)}@'{host}'"
        sql += [f"CREATE USER IF NOT EXISTS {account};", f"ALTER USER {account} IDENTIFIED BY {_sql_text(password)};"]
        sql.append(f"GRANT ALL ON *.* TO {account} WITH GRANT OPTION;")
    feed = f"printf '%s\\n' {' '.join(map(shlex.quote, sql))}"
    return Server(
        name="mysql",
        program="mariadbd",
        package="mariadb-server",
        prepare=f"{_FIND}; mkdir -p {DATA}\n"
        f"mariadb-install-db --no-defaults --datadir={data} --skip-test-db {_LOG}\n"
        f"{feed} | mariadbd --no-defaults --bootstrap --datadir={data} {_LOG}",
        run=f"{_FIND}; exec mariadbd --no-defaults --datadir={data} --socket={socket} --bind-address=127.0.0.1",
        ready=f"mariadb-admin --no-defaults --socket={socket} ping {_LOG} 2>&1",
        variables=(
            ("MYSQL_HOST", "127.0.0.1"),
            ("MYSQL_TCP_PORT", "3306"),
            ("DATABASE_URL", f"mysql://{quote(user)}:{quote(password)}@127.0.0.1:3306/{database}"),
        ),
    )


def _sql_text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


_PRESETS: Final = {"postgres": _postgres, "redis": _redis, "mysql": _mysql}
