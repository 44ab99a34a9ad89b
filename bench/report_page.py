"""Size of a large HTML report, and how long a browser takes to open it: 340 problems x 3 samples x 3 candidates.

    python -m bench.report_page [--problems 340] [--samples 3] [--candidates 3] [--out report.html]

Half of the attempts fail. Patches, outputs and conversations are as long as those of a real run; texts differ from
attempt to attempt. Prints megabytes, seconds to render it, and milliseconds until Chromium has parsed the page, run its
script and laid it out, the best of three.
"""

import argparse
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from codegate.candidates import CandidateSpec, Message, Usage
from codegate.grading import Grade, TestResult
from codegate.reporting import Evidence, ReportView, build_view, render_html
from codegate.running import Outcome, ProblemOrigin, ProblemRecord, Run, RunManifest
from codegate.solving import AttemptSummary

_MEASURE = (
    "<script>document.body.offsetHeight; document.title = 'opened in ' + Math.round(performance.now());</script></body>"
)
_WORDS = ("def", "return", "self", "value", "items", "total", "index", "merge", "split", "parse", "limit", "for", "if")
_MEGABYTE = 1_000_000


def text(seed: str, size: int) -> str:
    """Return about ``size`` characters that look like code."""
    draw = random.Random(seed)
    lines = (
        "    " * draw.randint(0, 3) + " ".join(draw.choices(_WORDS, k=draw.randint(2, 9))) for _ in range(size // 30)
    )
    return "\n".join(lines) + "\n"


def patch(seed: str, size: int) -> str:
    draw = random.Random(seed)
    head = "diff --git a/src/x.py b/src/x.py\n--- a/src/x.py\n+++ b/src/x.py\n@@ -1,9 +1,9 @@\n"
    return head + "".join(draw.choice(" +-") + line + "\n" for line in text(seed, size).splitlines())


def outcome(spec: CandidateSpec, problem: str, sample: int) -> Outcome:
    seed = f"{problem}/{spec.key()}/{sample}"
    passed = random.Random(seed).random() < 0.5
    failing = tuple(
        TestResult(id=f"tests/test_{problem}.py::test_{number}", status="failed", exception="AssertionError",
                   message=text(f"{seed}{number}", 600)[:2000])
        for number in range(2)
    )  # fmt: skip
    return Outcome(
        problem=problem, problem_digest="0" * 64, candidate=spec.key(), sample=sample,
        attempt=AttemptSummary(solver="single_shot", prompt_version="1", patch=patch(seed, 1500), contains_code=True,
                               usage=Usage(input_tokens=9000, output_tokens=900), models=(spec.model,),
                               model_seconds=12.0),
        grade=Grade(resolved=passed, score=100.0 if passed else 50.0, applied=True, compiled=True,
                    tests_passed=40 if passed else 38, tests_total=40, failure=None if passed else "logic_error",
                    detail="" if passed else "AssertionError: assert 1 == 2", tests=() if passed else failing,
                    exit_code=0 if passed else 1, seconds=3.0, output=text(f"out{seed}", 600 if passed else 4000)),
    )  # fmt: skip


def report(problems: int, samples: int, candidates: int) -> ReportView:
    specs = tuple(CandidateSpec(provider="openai", model=f"m-{number}-2025-04-14") for number in range(candidates))
    names = [f"shop-{number}" for number in range(problems)]
    manifest = RunManifest(
        id="bench", created="2025-06-01T12:00:00+00:00", codegate="0", suite="shop", suite_digest="d" * 64,
        sandbox="bwrap", samples=samples, looks=(samples,), candidates=specs, problems=dict.fromkeys(names, "0" * 64),
        origins={name: ProblemOrigin(title=f"Fix rounding in {name}", date="2025-03-02", commit="a" * 40,
                                     pull_request=number, project="https://github.com/acme/shop")
                 for number, name in enumerate(names)},
        conditions={"suite": "d" * 64},
    )  # fmt: skip
    outcomes = tuple(outcome(spec, name, sample) for name in names for spec in specs for sample in range(samples))

    def said(_run: str, made: Outcome) -> tuple[Message, ...]:
        seed = f"{made.problem}{made.candidate}{made.sample}"
        return (
            Message(role="system", text=text("system", 1500)),
            Message(role="user", text=text(made.problem, 40_000)),
            Message(role="assistant", text=text(seed, 2500)),
        )

    def asked(_run: str, name: str) -> ProblemRecord:
        return ProblemRecord(statement=text(f"s{name}", 1200), fix=patch(f"f{name}", 2000))

    return build_view([Run(manifest=manifest, outcomes=outcomes)], (), Evidence(transcripts=said, problems=asked))


def opened(page: Path) -> int:
    """Return milliseconds until Chromium had parsed and laid out ``page``, which reports it in its title."""
    browser = shutil.which("chromium") or shutil.which("google-chrome") or sys.exit("no Chromium on this machine")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--dump-dom"]
        done = subprocess.run([*command, f"file://{page}"], capture_output=True, text=True, timeout=300, check=True)
    found = re.search(r"<title>opened in (\d+)", done.stdout)
    return int(found[1]) if found else sys.exit("the browser did not open the page")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("problems", 340), ("samples", 3), ("candidates", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--out", type=Path, help="Keep the page here.")
    arguments = parser.parse_args()
    view = report(arguments.problems, arguments.samples, arguments.candidates)
    begun = time.perf_counter()
    html = render_html(view)
    seconds = time.perf_counter() - begun
    if arguments.out is not None:
        arguments.out.write_text(html, encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        # Its policy would refuse the script that measures.
        bare = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html)
        page.write_text(bare.replace("</body>", _MEASURE), encoding="utf-8")
        times = [opened(page) for _ in range(3)]
    print(f"{len(html.encode()) / _MEGABYTE:.1f} MB, made in {seconds:.1f} s, opened in {min(times)} ms of {times}")


if __name__ == "__main__":
    main()
