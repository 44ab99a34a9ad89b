"""``codegate init``: a configuration file to start from."""

from pathlib import Path

import click

from codegate.cli.options import FILE, json_option
from codegate.cli.output import emit, say
from codegate.durable import write_atomic
from codegate.errors import UsageError
from codegate.running import CONFIG_NAME

_TEXT = """\
# Configuration of codegate; every key but `candidates` has a default (docs/configuration.md).
suite: suites/mine              # made by: codegate mine . --out suites/mine
candidates:
  - provider: openai            # or anthropic; any OpenAI-compatible server with base_url
    model: gpt-4.1-2025-04-14   # a dated snapshot: floating aliases are refused
    solver: tool_loop           # or single_shot
samples: 1
concurrency:
  models: 4
  sandboxes: 2
max_model_calls: 500            # the run stops, resumable, before it makes more
# baseline: codegate.lock       # once it is pinned (codegate baseline pin RUN): then a missing one is an error
gate:
  margin: 0.10                  # a drop of ten percentage points is too much
  alpha: 0.05
"""


@click.command()
@click.option("--out", type=FILE, default=Path(CONFIG_NAME), show_default=True, help="Where to write it.")
@json_option
def command(out: Path, as_json: bool) -> None:
    """Write a codegate.yml to start from; an existing file is left alone."""
    if out.exists():
        raise UsageError(f"{out} exists.", "Remove it first, or give another --out.")
    write_atomic(out, _TEXT.encode("utf-8"))
    say(f"wrote {out}", as_json=as_json)
    if as_json:
        emit({"schema": "codegate.files/1", "config": str(out)})
