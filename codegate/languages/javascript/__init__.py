"""JavaScript and TypeScript: node:test, Jest, Vitest and Mocha."""

from typing import Final

from codegate.languages.contract import LanguagePack
from codegate.languages.javascript.declarations import JAVASCRIPT, TYPESCRIPT
from codegate.languages.javascript.files import SUFFIXES, JavaScriptFiles

LANGUAGE: Final = LanguagePack(
    name="javascript",
    suffixes=SUFFIXES,
    files=JavaScriptFiles,
    runners={
        name: f"codegate.languages.javascript.runners:{name.upper()}" for name in ("node", "jest", "vitest", "mocha")
    },
    environments="codegate.languages.javascript.environments:JavaScriptSupport",
    readers=(JAVASCRIPT, TYPESCRIPT),
    controls="codegate.languages.javascript.controls:TESTS",
    lines="codegate.languages.javascript.tests:DIALECTS",
    untyped=dict.fromkeys((".ts", ".mts", ".cts", ".tsx"), "// @ts-nocheck\n"),
    varies=frozenset({"clock", "order"}),
    compiled=(".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"),  # the framework reads JSX and components
)
