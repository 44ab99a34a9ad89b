"""What no code on the host may do with what strangers wrote: see it in the source, wherever it is written next."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import codegate

SOURCE = Path(codegate.__file__).parent
#: These run inside sandboxes, or are read there.
SENT = {"drivers", "supervisor.py"}
#: Each of them runs code, unpacks what it is told to, reads out of a container that lives, or expands without end.
CALLS = {"eval", "exec", "extractall", "extract", "unpack_archive", "get_archive", "system", "popen", "startfile"}
MODULES = {"pickle", "marshal", "shelve", "dill", "zipfile", "plistlib", "xml", "lxml", "imp", "pty"}


def modules() -> list[Path]:
    return [path for path in sorted(SOURCE.rglob("*.py")) if not SENT.intersection(path.relative_to(SOURCE).parts)]


def dangers(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = node.func
            name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
            # ``exec`` of an object is a method that it has, such as a remote sandbox's; the danger is the built-in.
            if name in CALLS and not (name == "exec" and isinstance(function, ast.Attribute)):
                yield f"line {node.lineno}: {name}()"
            for keyword in node.keywords:
                if keyword.arg == "shell" and not (isinstance(keyword.value, ast.Constant) and not keyword.value.value):
                    yield f"line {node.lineno}: shell="
        elif isinstance(node, ast.Import):
            yield from (f"line {node.lineno}: {a.name}" for a in node.names if a.name.partition(".")[0] in MODULES)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in MODULES:
            yield f"line {node.lineno}: {node.module}"


def test_no_module_of_the_host_unpacks_or_runs_what_it_reads() -> None:
    found = {path.name: said for path in modules() if (said := list(dangers(ast.parse(path.read_text()))))}
    # The one reader of XML refuses a document type, and so entities, and depth.
    assert [said.partition(": ")[2] for said in found.pop("strict.py")] == ["xml.parsers"]
    # The one reader of zips looks members up by name, within limits, and unpacks nothing.
    assert [said.partition(": ")[2] for said in found.pop("artifacts.py")] == ["zipfile"]
    # What a build left is read as a stream when its processes have ended, checked member by member, unpacked nowhere.
    assert [said.partition(": ")[2] for said in found.pop("docker_container.py")] == ["get_archive()"]
    # The host writes what the supervisor reads in the sandbox, and reads nothing in this format.
    assert [said.partition(": ")[2] for said in found.pop("supervisor_host.py")] == ["marshal"]
    assert [said.partition(": ")[2] for said in found.pop("stream.py")] == ["marshal"]
    [stream] = (path for path in modules() if path.name == "stream.py")
    calls = [node for node in ast.walk(ast.parse(stream.read_text())) if isinstance(node, ast.Attribute)]
    assert {node.attr for node in calls if ast.unparse(node.value) == "marshal"} == {"dumps"}
    assert found == {}
    assert len(modules()) > 100


@pytest.mark.parametrize(
    "text",
    [
        "import zipfile", "from xml.etree import ElementTree", "a.extractall(b)", "eval(a)", "exec(a)", "os.system(a)",
        "subprocess.run(a, shell=True)", "container.get_archive(p)", "import pickle as p",
    ],
)  # fmt: skip
def test_what_is_looked_for_would_be_found(text: str) -> None:
    assert len(list(dangers(ast.parse(text)))) == 1
