"""A provider that wishes us ill, asked by the real command with the real SDKs: it echoes the key, or answers badly.

One run asks it for everything, each candidate for another thing. Then every byte that the run left is searched for
the keys, in every encoding.
"""

import base64
import codecs
import html
import json
import os
import re
import shutil
import urllib.parse
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, Final

from tests.kit.command import FORKER, Done
from tests.kit.http import Reply, Request, Server
from tests.redteam.battery import Row
from tests.redteam.harness.place import Place, build

KEYS: Final = {
    "OPENAI_API_KEY": "sk-proj-Kq7/Zm4+Xw9=Tb2<Ln6&Vd8Rf3",
    "ANTHROPIC_API_KEY": "sk-ant-Hy5/Pc1+Gj8=Ws4<Qk7&Nz2Mt6",
    "GITHUB_TOKEN": "ghp_Ud3Ye9Oa5Bi7Sx1Ce4Jr8Wv2",
}

_SDKS: Final = ("openai", "anthropic")
_APART: Final = re.compile(r"\\n|\\r|\\t|\\u[0-9a-fA-F]{4}|\\x[0-9a-f]{2}|[\s\x00\u200b\ufffd]")


def encodings(key: str) -> dict[str, str]:
    """Return ``key`` as somebody could write it who does not want it to be found."""
    raw = key.encode()
    quoted = urllib.parse.quote(key, safe="")
    return {
        "raw": key,
        "base64": base64.b64encode(raw).decode(),
        "base64-1": base64.b64encode(b"x" + raw).decode(),
        "base64-2": base64.b64encode(b"xy" + raw).decode(),
        "base64url": base64.urlsafe_b64encode(raw).decode(),
        "hex": raw.hex(),
        "HEX": raw.hex().upper(),
        "url": quoted,
        "url-twice": urllib.parse.quote(quoted, safe=""),
        "json": json.dumps(key)[1:-1],
        "html": html.escape(key),
        "shell": f"'{key}'",
        "reversed": key[::-1],
        "lines": "\n".join(key),
        "blanks": " ".join(key),
        "zero-width": "\u200b".join(key),
        "utf-16": key.encode("utf-16-le").decode("latin-1"),
    }


def leaks(data: bytes, key: str) -> list[str]:
    """Return the encodings of ``key`` that ``data`` holds."""
    text = data.decode("utf-8", "replace")
    joined = _APART.sub("", html.unescape(text))
    seen = text + joined
    # Of base64, the middle: its ends depend on what stands beside it.
    return [name for name, form in encodings(key).items() if _APART.sub("", form)[6:-6] in seen]


def _answer(status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> Reply:
    return Reply(body, status, {"content-type": "application/json", **(headers or {})})


def _document(sdk: str, text: str, **changes: Any) -> bytes:
    """Return a good answer, but for ``changes``."""
    if sdk == "anthropic":
        document: dict[str, Any] = {
            "id": "1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": text}], "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip
    else:
        message = {"role": "assistant", "content": text}
        document = {
            "id": "1", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }  # fmt: skip
    return json.dumps({**document, **changes}).encode()


def _all(key: str) -> str:
    return " | ".join(encodings(key).values())


def _patch(key: str) -> str:
    """Return an answer whose code brings the key to light again, and whatever secrets it finds where it runs."""
    code = f"""    import codecs, os
    found = [codecs.decode({codecs.encode(key, "rot13")!r}, "rot13"), str(dict(os.environ))]
    for process in [name for name in os.listdir("/proc") if name.isdigit()]:
        try:
            found.append(str(open("/proc/" + process + "/environ", "rb").read()))
        except OSError:
            pass
    print(found)
    raise AssertionError(found)
"""
    return f"{_all(key)}\n\ncalc/half.py\n<<<<<<< SEARCH\n    return n // 3\n=======\n{code}>>>>>>> REPLACE\n"


def _tools(sdk: str, key: str) -> bytes:
    arguments = {"path": _all(key), "content": _all(key)}
    if sdk == "anthropic":
        use = {"type": "tool_use", "id": key, "name": f"write_{key}", "input": arguments}
        return _document(sdk, "", content=[use], stop_reason="tool_use")
    call = {"id": key, "type": "function", "function": {"name": f"write_{key}", "arguments": json.dumps(arguments)}}
    message = {"role": "assistant", "content": _all(key), "tool_calls": [call]}
    return _document(sdk, "", choices=[{"index": 0, "message": message, "finish_reason": "tool_calls"}])


def _stop(sdk: str, said: object) -> bytes:
    if sdk == "anthropic":
        return _document(sdk, "x", stop_reason=said)
    return _document(sdk, "", choices=[{"message": {"content": "x"}, "finish_reason": said}])


def _error(message: str, kind: str = "authentication_error") -> bytes:
    return json.dumps({"type": "error", "error": {"type": kind, "code": kind, "message": message}}).encode()


# What a malformed, endless or compressed answer ends in is a table in tests/candidates/test_faults.py.
#: What is asked for, what is answered, and the cause that is journalled for it; None: an answer that is graded.
_KINDS: Final[dict[str, tuple[Callable[[str, str, str], Reply], str | None]]] = {
    "echo-in-a-401": (
        lambda sdk, key, there: _answer(401, _error(_all(key)), {"x-echo": key, "www-authenticate": key}),
        "provider.authentication",
    ),
    "echo-in-an-error-kind": (lambda sdk, key, there: _answer(400, _error("no", _all(key))), "provider.bad_request"),
    "echo-in-the-stop": (lambda sdk, key, there: _answer(200, _stop(sdk, key)), "provider.malformed"),
    "echo-in-the-answer": (lambda sdk, key, there: _answer(200, _document(sdk, _patch(key), model=key)), None),
    "echo-in-tool-calls": (lambda sdk, key, there: _answer(200, _tools(sdk, key)), None),
    "echo-in-a-redirect": (
        lambda sdk, key, there: _answer(302, b"", {"location": f"{there}/{key}"}), "provider.not_found"
    ),
    "redirect": (lambda sdk, key, there: _answer(307, b"", {"location": there}), "provider.not_found"),
    "many-values": (
        lambda sdk, key, there: _answer(200, b'{"a":[' + b"[]," * 3_000_000 + b"[]]}"), "provider.malformed"
    ),
    "other-types": (
        lambda sdk, key, there: _answer(200, _document(sdk, "x", choices={"a": 1}, content=5, usage=[])),
        "provider.malformed",
    ),
    "half-a-sign": (lambda sdk, key, there: _answer(200, _document(sdk, "\ud800 ::error:: \x1b[2J")), None),
    "commands": (
        lambda sdk, key, there: _answer(401, _error("x\n::add-mask::true\r##[set-output name=a;]b\x1b]0;x\x07\u202e")),
        "provider.authentication",
    ),
}  # fmt: skip


class _Server(Server):
    """Answers each candidate with what its model's name asks for, and remembers who asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.there = ""
        super().__init__(self._reply)

    def _reply(self, request: Request) -> Reply:
        """Answer ``request`` with the key that came with it."""
        self.asked.append(request.path)
        model = request.body.get("model") if request.method == "POST" else None
        if model not in _KINDS:
            return Reply(status=404)
        sdk = "anthropic" if request.path.endswith("/messages") else "openai"
        key = request.headers.get("x-api-key") or request.headers.get("authorization", "").removeprefix("Bearer ")
        return _KINDS[model][0](sdk, key, self.there)


def run(sandbox: str, only: Collection[str] | None, folder: Path) -> Iterator[Row]:
    """Carry out the run and yield a row for each thing that was asked for, and for each place that was searched."""
    asked = [(kind, sdk) for kind in _KINDS for sdk in _SDKS if only is None or f"provider-{kind}@{sdk}" in only]
    if not asked:
        return
    folder.mkdir()
    build(folder / "here")
    place = Place(folder / "here")
    problems = "problems:\n- calc-double\n- calc-half\n- calc-square\n"
    place.replace(place.suite / "suite.yml", problems, "problems:\n- calc-half\n")
    server, elsewhere = _Server(), _Server()
    server.there = f"{elsewhere.url}/v1"
    try:
        done = _asked(place, sandbox, [_candidate(server.url, *each) for each in asked], elsewhere.url)
    finally:
        server.close()
        elsewhere.close()
    causes: dict[str, str | None] = {}
    run_folder = place.home / "out"
    names = _keys_of(run_folder)
    for line in (run_folder / "outcomes.jsonl").read_text().splitlines():
        outcome = json.loads(line)
        causes[names[outcome["candidate"]]] = outcome["fault"]["cause"] if outcome["fault"] else None
    for kind, sdk in asked:
        expected, got = _KINDS[kind][1], causes.get(f"{kind}@{sdk}", "(no outcome)")
        yield Row("harness", f"provider-{kind}@{sdk}", sandbox, str(expected), str(got), expected == got)
    for name, all_found in _searched(place, done, elsewhere).items():
        if only is None or name in only:
            found = ", ".join(all_found)
            yield Row("harness", name, sandbox, "nothing", found[:300] or "nothing", not found)


def _candidate(url: str, kind: str, sdk: str) -> dict[str, Any]:
    return {
        "provider": sdk,
        "model": kind,
        "base_url": f"{url}/v1" if sdk == "openai" else url,
        "timeout_seconds": 60,
        "solver": "tool_loop" if kind == "echo-in-tool-calls" else "single_shot",
        "max_iterations": 2,
    }


def _asked(place: Place, sandbox: str, candidates: list[dict[str, Any]], proxy: str) -> Done:
    # The run itself reaches no package index, so its environment has to be there.
    words = ("run", "suite", "--candidate", "empty", "--samples", "1", "--no-gate", "--no-precheck", "--out", "ready")
    ready = FORKER.run(*words, "--sandbox", sandbox, cwd=place.home, environment=os.environ)
    assert ready.code == 0, ready.stderr
    config = {"candidates": candidates, "suite": "suite", "concurrency": {"models": 8, "sandboxes": 2}}
    (place.home / "own.yml").write_text(json.dumps(config))
    programs = place.home / "bin"
    programs.mkdir()
    wrapper = programs / "git"
    wrapper.write_text(f'#!/bin/sh\n/usr/bin/env >> {place.home}/git-environment\nexec {shutil.which("git")} "$@"\n')
    wrapper.chmod(0o755)
    environment = {
        **os.environ,
        **KEYS,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "OPENAI_LOG": "debug",
        "ANTHROPIC_LOG": "debug",
        "HTTPX_LOG_LEVEL": "debug",
        **dict.fromkeys(("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"), proxy),
        **dict.fromkeys(("NO_PROXY", "no_proxy"), ""),
    }
    options = ("--config", "own.yml", "--sandbox", sandbox, "--out", "out", "--no-gate", "--no-precheck", "--json")
    # Each SDK looks at the variable of its log when it is loaded, and the process that forks has loaded one.
    log = "from openai._utils._logs import setup_logging; setup_logging()"
    return FORKER.run("run", *options, cwd=place.home, environment=environment, seconds=240, before=log)


def _keys_of(folder: Path) -> dict[str, str]:
    """Return each candidate's name, as the rows have it, by its key."""
    from codegate.running import load_run

    return {c.key(): f"{c.model}@{c.provider}" for c in load_run(folder).manifest.candidates}


def _searched(place: Place, done: Done, elsewhere: _Server) -> dict[str, list[str]]:
    """Return, by search, what was found that should not be there."""

    def forms(data: bytes) -> list[str]:
        return [form for key in KEYS.values() for form in leaks(data, key)]

    said = done.stdout + done.stderr
    lines = said.replace("\r", "\n")
    files = [path for path in sorted((place.home / "out").rglob("*")) if path.is_file()]
    return {
        "secrets-in-files": [f"{path.name}: {form}" for path in files for form in forms(path.read_bytes())],
        "secrets-in-output": forms(said.encode()) + [f"'{word}'" for word in ("Traceback", "DEBUG]") if word in said],
        "secrets-in-the-environment-of-git": forms((place.home / "git-environment").read_bytes()),
        "commands-in-output": re.findall(r"^\s*::\w.*|.*##\[.*|.*[\x1b\u202e].*", lines, re.MULTILINE),
        "requests-to-another-address": elsewhere.asked,
    }
