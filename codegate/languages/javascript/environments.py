"""Find the test runner of a JavaScript or TypeScript project."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from codegate.environments.locks import NODE_RUNNERS
from codegate.mining.languages import LanguageSupport, RunnerSettings
from codegate.suite import RunnerName, Subtree, Tree
from codegate.suite.declared import mapping, read_tree_json

_SECTIONS: Final = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
_WORDS: Final[tuple[tuple[re.Pattern[str], RunnerName], ...]] = (
    (re.compile(r"(?:^|[\s/])vitest(?:\.mjs)?(?:\s|$)"), "vitest"),
    (re.compile(r"(?:^|[\s/])jest(?:\.js)?(?:\s|$)"), "jest"),
    (re.compile(r"(?:^|[\s/])_?mocha(?:\.js)?(?:\s|$)"), "mocha"),
    (re.compile(r"(?:^|\s)(?:node|tsx)\s(?:[^&|;]*\s)?--test(?:\s|$)"), "node"),
)
_TEST_SCRIPTS: Final = ("test:unit", "unit", "test", "test:node", "test-unit", "tests", "test:only", "test:js", "mocha")
_CALLED: Final = re.compile(r"(?:npm|pnpm|yarn|bun)(?:\s+run)?\s+([\w:.-]+)|run-[sp]\s+([\w:. -]+)")


class JavaScriptSupport(LanguageSupport):
    """Mining's support for JavaScript and TypeScript."""

    parts = True

    def runner(self, tree: Tree) -> RunnerSettings | None:
        """Return the runner that ``package.json`` names, or None."""
        found = runner_of(tree)
        return RunnerSettings(found) if found is not None else None


def runner_of(tree: Tree) -> RunnerName | None:
    """Return the test runner that ``package.json`` names, or None."""
    own = read_tree_json(tree, "package.json")
    texts = {name: text for name, text in mapping(own.get("scripts")).items() if isinstance(text, str)}
    for name in _TEST_SCRIPTS:
        found = _called(_expanded(name, texts))
        if found is not None:
            return found
    above = (
        [read_tree_json(tree.whole, f"{folder}package.json") for folder in tree.above()]
        if isinstance(tree, Subtree)
        else []
    )
    for section in _SECTIONS:
        for runner in NODE_RUNNERS:
            if any(runner in mapping(content.get(section)) for content in (own, *above)):
                return runner
    return _called(text for name, text in texts.items() if "test" in name)


def _expanded(name: str, scripts: Mapping[str, str], depth: int = 0) -> list[str]:
    text = scripts.get(name)
    if text is None or depth > 5:
        return []
    found = [text]
    for one, several in _CALLED.findall(text[:4000]):
        for called in (one, *several.split()):
            found += _expanded(called, scripts, depth + 1)
    return found


def _called(texts: Iterable[str]) -> RunnerName | None:
    for text in texts:
        for words, runner in _WORDS:
            if words.search(text[:4000]):
                return runner
    return None
