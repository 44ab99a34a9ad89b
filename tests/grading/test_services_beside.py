"""Commands in a recorded build have the services of its recipe beside them."""

from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from codegate.environments import Recipe, ServiceRecipe, environment_of
from codegate.grading import Sandboxes
from codegate.sandbox import Command
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.suite import Base, ProblemLimits
from tests.kit.recorded import Recorded

SERVE = "exec python3 -c \"import http.server as s; s.test(s.SimpleHTTPRequestHandler, port=8125, bind='127.0.0.1')\""
ASK = "python3 -c \"import urllib.request as u; print(u.urlopen('http://127.0.0.1:8125/').status)\""


@pytest.mark.bwrap
def test_tests_and_agents_meet_the_services_of_the_recipe(bwrap_backend: BubblewrapBackend, tmp_path: Path) -> None:
    built = Recorded(bwrap_backend, {}, (), (), {}, tmp_path)
    recipe = Recipe(services=(ServiceRecipe(run=SERVE, ready=ASK),))
    base = Base(commit="a" * 40)
    environment = environment_of("shop", recipe, "", day=date(2026, 1, 1), base=base, inputs="b" * 64)
    manifest = environment.manifest
    with closing(Sandboxes(bwrap_backend, {})) as sandboxes:
        sandboxes.add(environment, built.recipe)
        with sandboxes.open(manifest, ProblemLimits()) as sandbox:
            asked = sandbox.run(Command(("sh", "-c", ASK)))
        with sandboxes.open_for_agent(manifest, (), 60) as (sandbox, _):
            asked_by_agent = sandbox.run(Command(("sh", "-c", ASK)))
    assert (asked.stdout, asked_by_agent.stdout) == (b"200\n", b"200\n")
