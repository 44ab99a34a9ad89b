"""The results channel: records that the patch writes itself, or has written by a run of its own."""

from typing import Final

from tests.redteam.grader.writing import Change

#: Finds the driver's channel, or what is like one, and the ids of the tests that run.
FIND: Final = r"""
import gc, json, os, re, sys

def _channels():
    return [one for one in gc.get_objects() if "token" in getattr(one, "__dict__", ()) and hasattr(one, "send")]

def _ids():
    from _pytest.main import Session
    for one in gc.get_objects():
        if isinstance(one, Session):
            return [item.nodeid for item in one.items]
    import unittest
    names = []
    for one in gc.get_objects():
        if isinstance(one, unittest.TestCase) and type(one).__module__ != "unittest.loader":
            path = type(one).__module__.replace(".", "/") + ".py"
            path = path if path.startswith("tests/") else "tests/" + path
            names.append("%s::%s::%s" % (path, type(one).__qualname__, one._testMethodName))
    return names

def _current():
    name = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0]
    frame = sys._getframe()
    while frame is not None and not name:
        one = frame.f_locals.get("self")
        if hasattr(one, "_testMethodName"):
            name = "::%s::%s" % (type(one).__qualname__, one._testMethodName)
        frame = frame.f_back
    return name

def _tokens():
    found = []
    for name, module in list(sys.modules.items()):
        if name.rpartition(".")[2].startswith("test_") and getattr(module, "__file__", None):
            with open(module.__file__) as file:
                found += re.findall(r'\b_[0-9a-f]{8,}\(\s*"([0-9a-f]+)"', file.read())
    return {"receipts": found} if found else {}

def _records(names):
    # Tests before this one have been reported, and its setup has.
    now, paid = _current(), _tokens()
    at = next((number for number, name in enumerate(names) if name.endswith(now)), 0)
    names = names[at:] if "[" in now or "Test" not in now else names
    for name in names:
        for when in ("setup", "call", "teardown"):
            if not (name.endswith(now) and when == "setup"):
                yield dict(kind="phase", id=name, when=when, outcome="passed", seconds=0.001, markers=[], crash=None,
                           **paid)
    yield dict(kind="end", status=0)
"""

ATTACKS: Final = (
    Change(
        "records-without-token", "records on every descriptor", ("single", "unittest"),
        end=FIND, body="""
        text = "".join(json.dumps(one) + "\\n" for one in _records(_ids())).encode()
        for number in range(3, 64):
            try:
                os.write(number, text)
            except OSError:
                pass
        os._exit(0)
        """,
    ),
    Change(
        "channel-by-gc", "all records through the driver's own channel, found by gc", ("functions",),
        end=FIND, body="""
        names = _ids()
        for channel in _channels():
            for one in _records(names):
                channel.send(**one)
        os._exit(0)
        """,
    ),
    Change(
        "tests-rewritten-at-run-time", "the test files on disk, without assertions, and pytest again", ("single",),
        end="""
        import os, re, sys
        if "AGAIN" not in os.environ:
            os.environ["AGAIN"] = "1"
            for folder, _, names in os.walk("tests"):
                for name in names:
                    if name.startswith("test_"):
                        path = os.path.join(folder, name)
                        text = open(path).read()
                        text = re.sub(r"(?m)^( *)assert .*$", r"\\1pass", text)
                        text = re.sub(r"(?m)^( *)with pytest.raises.*$", r"\\1if not True:", text)
                        os.chmod(path, 0o644)
                        open(path, "w").write(text)
            os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
            os.execv(sys.executable, [sys.executable, "-m", "pytest", "-q", *sys.argv[1:]])
        """,
    ),
    Change(
        "driver-again-with-marks", "the driver on a copy of the tree whose assertions hold, marks and all",
        ("single",),
        end=FIND + r"""
import re, shutil

def _again():
    place = os.getcwd()
    if place.startswith("/tmp/again"):
        return
    settings = dict(next(
        one for one in gc.get_objects() if type(one) is dict and type(one.get("token")) is str and "file" in one
    ))
    with open("/proc/self/cmdline", "rb") as file:
        argv = file.read().split(b"\0")[:-1]
    shutil.copytree(place, "/tmp/again", symlinks=True)
    for folder, _, names in os.walk("/tmp/again/tests"):
        for name in names:
            if name.startswith("test_"):
                path = os.path.join(folder, name)
                text = open(path).read()
                text = re.sub(r"(?m)^( *)assert .*?;", r"\1pass;", text)
                text = re.sub(r"(?m)^( *)assert .*$", r"\1pass", text)
                open(path, "w").write(text)
    argv = [b"/tmp/again" if part == place.encode() else part for part in argv]
    with open("/tmp/settings", "w") as file:
        json.dump(settings, file, default=repr)
    os.dup2(os.open("/tmp/settings", os.O_RDONLY), 0)
    os.set_inheritable(0, True)
    os.set_inheritable(int(next(p for p in argv if p.isdigit())), True)
    os.chdir("/tmp/again")
    os.execv(sys.executable, argv)

try:
    _again()
except StopIteration:
    pass
""",
    ),
)  # fmt: skip
