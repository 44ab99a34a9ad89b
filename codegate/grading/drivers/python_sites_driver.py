"""Finds where a Python test file can be instrumented, without running it; each find is a line on the records pipe.

This file is never imported by codegate: its text is sent into a fresh sandbox and run there by the environment's own
interpreter (``-I -S -B``), whose syntax the tests are written in, before any other code has run. Standard input is a
JSON object ``{"files": {path: text}}``; argument 1 is the pipe's descriptor.
``controls/search.py`` is the other end, and ``controls/sites.py`` says what the records mean.
"""

from __future__ import annotations

import ast
import builtins
import json
import math
import os
import re
import sys
import warnings
from typing import Any, Iterator

from codegate.grading.drivers.python_mutants_driver import Mutants
from codegate.grading.drivers.python_written_driver import EXPECTING, name_of

TESTS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
MOST_SITES = 20000
#: Context managers that let every exception of their block out.
OPEN = re.compile(
    r"^(open|fdopen|urlopen|closing|nullcontext|localcontext|chdir|redirect_stdout|redirect_stderr|patch|object|dict|"
    r"multiple|subTest|catch_warnings|deprecated_call|assertLogs|assertNoLogs|assertNumQueries|CaptureQueriesContext|"
    r"override_settings|modify_settings|freeze_time|travel|context|app_context|test_client|test_request_context|"
    r"isolated_filesystem|Lock|RLock|ZipFile|TarFile|\w*TemporaryFile|TemporaryDirectory|\w+PoolExecutor)$"
)


class File:
    """One test file: its text by byte offset, and what was found in it."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text
        self.data = text.encode("utf-8")
        self.lines = [0, *(match.end() for match in re.finditer(rb"\r\n|\n|\r", self.data))]
        self.found: list[dict[str, Any]] = []
        self.values = 0
        self.hidden: dict[int, int] = {}  # where a hidden literal starts: its number among the values
        self.ends: set[int] = set()
        self.test = ""

    def start(self, node: Any) -> int:
        """Return the offset of a node's first byte."""
        offset: int = self.lines[node.lineno - 1] + node.col_offset
        return offset

    def end(self, node: Any) -> int:
        """Return the offset behind a node's last byte."""
        offset: int = self.lines[node.end_lineno - 1] + node.end_col_offset
        return offset

    def text_of(self, node: Any) -> str:
        """Return what is written for a node."""
        return self.data[self.start(node) : self.end(node)].decode("utf-8")

    def receipt(self, at: int, required: bool, edits: list[list[Any]]) -> None:
        """Add the receipt of an assertion that ends at ``at``."""
        self.ends.add(at)
        self.add(kind="receipt", test=self.test, order=at, required=required, edits=edits)

    def value(self, edits: list[list[Any]], text: str) -> int:
        """Add a value that is read from the table; return its number."""
        self.add(kind="value", edits=edits, text=text)
        self.values += 1
        return self.values - 1

    def add(self, **record: Any) -> None:
        """Add a record."""
        self.found.append({"file": self.path, **record})


def is_expecting(item: Any) -> bool:
    """Return whether a ``with`` item waits for an exception or a warning."""
    call = item.context_expr
    return isinstance(call, ast.Call) and bool(EXPECTING.match(name_of(call.func)))


def lets_out(item: Any) -> bool:
    """Return whether what is raised inside of a ``with`` item leaves it, so that a passing test has run it all."""
    call = item.context_expr
    return isinstance(call, ast.Call) and bool(OPEN.match(name_of(call.func)))


def functions_in(body: list[Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the functions that could be tests, by their names within the file as pytest writes them."""
    for node in body:
        if isinstance(node, TESTS):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from functions_in(node.body, prefix + node.name + "::")
        elif isinstance(node, (ast.If, ast.Try)):
            yield from functions_in(node.body, prefix)


def inherited(tree: Any, tests: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield tests that a class of the file has from another class of it, with where they are written."""
    bases = {
        node.name: [base.id for base in node.bases if isinstance(base, ast.Name)]
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }
    for name, direct in bases.items():
        line, known = list(direct), {name}
        while line:
            base = line.pop(0)
            if base in known or base not in bases:
                continue
            known.add(base)
            line = bases[base] + line
            for test in [test for test in tests if test.startswith(base + "::")]:
                own = name + "::" + test.partition("::")[2]
                if own not in tests:
                    yield own, test


def returns(function: Any) -> bool:
    """Return whether a function may end before its last statement."""
    todo = list(function.body)
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.Return, ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(node, SCOPES):
            todo.extend(ast.iter_child_nodes(node))
    return False


def statements(file: File, body: list[Any], certain: bool, mutants: Any) -> None:
    """Find receipts and mutants in a list of statements; ``certain``: a test that passes ran all of them."""
    for node in body:
        if isinstance(node, ast.Assert):
            receipt_after(file, node, certain)
            if not mutants.swallowed:
                mutants.of_assert(node)
        elif isinstance(node, ast.Expr):
            call = node.value.value if isinstance(node.value, ast.Await) else node.value
            if isinstance(call, ast.Call) and name_of(call.func).startswith(("assert", "raises", "warns", "fail")):
                receipt_after(file, node, certain)
                if not mutants.swallowed:
                    mutants.of_call(node, call)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            outer = mutants.swallowed
            through = all(lets_out(item) for item in node.items)
            expected: list[Any] = [item.context_expr for item in node.items if is_expecting(item)]
            for call in expected:
                if isinstance(node, ast.With):
                    guard(file, call, certain)
                if not mutants.swallowed:
                    mutants.of_expectation(call, node.body)
            # Behind what raises nothing is run; what fails before it may be what is waited for.
            waits = any("warns" not in name_of(call.func).lower() for call in expected)
            mutants.swallowed = outer or waits or not (through or expected)
            statements(file, node.body, certain and through, mutants)
            mutants.swallowed = outer
        elif isinstance(node, (ast.If, ast.For, ast.AsyncFor, ast.While)):
            outer, mutants.looped = mutants.looped, mutants.looped or not isinstance(node, ast.If)
            statements(file, node.body, False, mutants)
            mutants.looped = outer
            statements(file, node.orelse, False, mutants)
        elif isinstance(node, ast.Try):
            outer, mutants.swallowed = mutants.swallowed, mutants.swallowed or bool(node.handlers)
            for part in (node.body, *(handler.body for handler in node.handlers)):
                statements(file, part, False, mutants)
            mutants.swallowed = outer
            statements(file, node.orelse, False, mutants)
            statements(file, node.finalbody, certain, mutants)


def receipt_after(file: File, node: Any, certain: bool) -> None:
    """Find the receipt of a simple statement: a call behind it, on its line."""
    at = file.end(node)
    file.receipt(at, certain, [[at, at, '; $receipt$("$token$")']])


def guard(file: File, call: Any, certain: bool) -> None:
    """Find the receipt of a context manager: it wraps it, since nothing can follow a block on its line."""
    start, end = file.start(call), file.end(call)
    file.receipt(end, certain, [[start, start, '$guard$("$token$", '], [end, end, ")"]])


def last_statement(file: File, function: Any, certain: bool) -> None:
    """Find the receipt of a test's end, where its last statement has none of its own."""
    last = function.body[-1]
    if isinstance(last, (ast.Expr, ast.Assign, ast.AugAssign, ast.Delete)) and file.end(last) not in file.ends:
        receipt_after(file, last, certain)


# --- literals ---------------------------------------------------------------------------------------------------------


def hide(file: File, node: Any, seen: set[int]) -> None:
    """Find the literals below ``node`` that can be read from a table instead."""
    if id(node) in seen or isinstance(node, ast.JoinedStr) or type(node).__name__ in ("TemplateStr", "TypeAlias"):
        return
    seen.add(id(node))
    if isinstance(node, ast.Constant):
        if type(node.value) in (int, str, bytes) or (type(node.value) is float and math.isfinite(node.value)):
            start, end = file.start(node), file.end(node)
            breaks = "\n" * len(re.findall(rb"\r\n|\n|\r", file.data[start:end]))
            text = '($value$(%s"$token$"))' % breaks
            file.hidden[start] = file.value([[start, end, text]], repr(node.value))
        return
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "type_params", "pattern"):
            continue
        parts = value if isinstance(value, list) else [value]
        if name == "body" and isinstance(node, (*TESTS, ast.ClassDef)) and parts and is_text(parts[0]):
            parts = parts[1:]
        for part in parts:
            if type(part).__name__ == "match_case":
                for inner in part.body:
                    hide(file, inner, seen)
            elif isinstance(part, ast.AST) and not is_text(part):
                hide(file, part, seen)


def known_names(tree: Any) -> set[str]:
    """Return the names of a module that are not of the code under test: built-in ones, of the standard library."""
    known = set(dir(builtins))
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)) and not getattr(node, "level", 0):
            for entry in node.names:
                root = (getattr(node, "module", None) or entry.name).partition(".")[0]
                if root in getattr(sys, "stdlib_module_names", ()):
                    known.add((entry.asname or entry.name).partition(".")[0])
    return known


def is_text(node: Any) -> bool:
    """Return whether a statement is a docstring, or a text that stands for a comment."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def search(file: File) -> None:
    """Find everything in one file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(file.data)
    tests = dict(functions_in(tree.body))
    seen: set[int] = set()
    for node in tests.values():
        # Equal literals of one function are one object, which a value that is read from a table is not.
        if not any(isinstance(part, ast.Call) and name_of(part.func) == "id" for part in ast.walk(node)):
            hide(file, node, seen)
    constants = [part.value for part in ast.walk(tree) if isinstance(part, ast.Constant)]
    texts = [text for text in constants if isinstance(text, str) and len(text) < 1000]
    words = sorted({word for text in texts for word in re.findall(r"[^\W\d_]{2,12}", text)})
    known = known_names(tree)
    for name, node in tests.items():
        file.test = name
        certain = not returns(node)
        mutants = Mutants(file, tree, node, words, known)
        statements(file, node.body, certain, mutants)
        last_statement(file, node, certain)
        mutants.finish()
    for name, written in inherited(tree, tests):
        file.add(kind="alias", test=name, of=written)


def main() -> None:
    """Search the files that standard input brings."""
    out = os.fdopen(int(sys.argv[1]), "w", encoding="ascii")
    settings = json.load(sys.stdin)
    for path, text in settings["files"].items():
        file = File(path, text)
        try:
            search(file)
        except (SyntaxError, ValueError, RecursionError):
            continue  # the runner will say what is wrong with it; what memory is short for ends the search
        for record in file.found[:MOST_SITES]:
            out.write(json.dumps(record) + "\n")
    out.flush()


main()
