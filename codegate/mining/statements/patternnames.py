"""New names of a fix in JavaScript, TypeScript and Go, by patterns: rather none than a wrong one."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from codegate.languages.syntax import decode
from codegate.mining.cut import Cut
from codegate.mining.statements.newnames import NewName, added_numbers
from codegate.mining.statements.vocabulary import absent

_SCRIPT: Final = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")
_MAX_FILE: Final = 1 << 20
_MAX_NAMES: Final = 100
_NAME: Final = r"[A-Za-z_$][\w$]{0,100}"
_RETURNS: Final = re.compile(r" ?: ?[\w<>\[\]|&., ]{1,80}(?= ?(?:\{|=>|\n|;))")
_MAX_PARAMETERS: Final = 400

_JS_NOISE: Final = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"", re.DOTALL)
_JS_EXPORT: Final = re.compile(
    rf"^[ \t]{{0,8}}(?:export (?:default )?(?P<kind>(?:declare )?(?:abstract )?(?:async )?(?:function ?\*?|class|const"
    rf"|let|var|interface|type|enum)) ?(?P<name>{_NAME})|(?:module\.)?exports\.(?P<member>{_NAME})(?= ?=(?!=)))",
    re.MULTILINE,
)
_JS_LIST: Final = re.compile(r"(?:^export|\bmodule\.exports ?=) ?\{([^{}]{1,5000})\}", re.MULTILINE)
_JS_ENTRY: Final = re.compile(rf"\s*(?:type )?({_NAME})(?:\s+as\s+({_NAME})|\s*:\s*[^\n]{{1,200}})?\s*")
_JS_WHOLE: Final = re.compile(rf"^(?:module\.exports =|export default) ({_NAME});?[ \t]*$", re.MULTILINE)
_JS_CALLABLE: Final = re.compile(
    r" ?(?:<[^<>()\n]{1,80}>)? ?(?::[^=\n]{1,80})?(?:= ?(?:async ?)?(?:function ?\*? ?\w{0,100} ?)?)?(?=\()"
)
_JS_USED: Final = re.compile(rf"\.({_NAME})|[{{,]\s{{0,80}}({_NAME})(?=\s{{0,8}}[,:}}])")

_GO_NOISE: Final = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:[^\"\\\n]|\\.)*\"|`[^`]*`", re.DOTALL)
_GO_FUNCTION: Final = re.compile(
    r"^func (?P<on>\([^()\n]{1,100}\) )?(?P<name>\w{1,100})(?P<rest>[^\n{]{0,300})", re.MULTILINE
)
_GO_TYPE: Final = re.compile(
    r"^type (?P<name>\w{1,100})(?:\[[^\]\n]{1,100}\])?[ \t]{1,8}=?[ \t]?(?P<rest>\w[\w.\[\]*]{0,80})?", re.MULTILINE
)
_GO_VALUE: Final = re.compile(r"^(?:var|const) (?P<name>\w{1,100})\b", re.MULTILINE)
_GO_GROUP: Final = re.compile(r"^(var|const) \(\n", re.MULTILINE)
_GO_MEMBER: Final = re.compile(r"^\t(?P<name>\w{1,100})\b", re.MULTILINE)
_GO_FIELD: Final = r"^[ \t]{1,8}%s[ \t]{1,40}(?P<type>[\w.*\[\]{}]{1,80}(?:\([^\n]{0,100}\))?)"
_GO_USED: Final = re.compile(r"\.(\w{1,100})|\b(\w{1,100}):(?!=)")


def javascript_names(cut: Cut) -> tuple[list[NewName], set[str]]:
    """Return the exports and members that the fix adds and the tests use, and those without a signature to give."""
    used, members = _used(cut, _SCRIPT, _JS_NOISE, _JS_USED)
    if not used:
        return [], set()
    found: list[NewName] = []
    sources = list(_sources(cut, _SCRIPT))
    text = "\n".join(new for _, new, _ in sources)
    for path, new, old in sources:
        before = {name for name, _, _ in _exports(old)}
        place = f"{path}: " if path not in cut.base else ""  # whoever imports a new file must know where it is
        told = [export for export in _exports(new) if export[0] in used and export[0] not in before]
        for name, shown, local in told[:_MAX_NAMES]:
            shape = (_local_parameters(local, new) or _local_parameters(local, text)) if local else ""
            found.append(NewName(name, f"{place}{shown}{shape}"))
    open_names = _open(cut, members, found, _JS_NOISE.sub(" ", text))
    for name in sorted(open_names)[:_MAX_NAMES]:
        shown = _javascript_member(name, text)
        if shown:
            found.append(NewName(name, shown))
    return found, open_names - {name.name for name in found}


def go_names(cut: Cut) -> tuple[list[NewName], set[str]]:
    """Return the declarations and fields that the fix adds and the tests use, and those without a signature to give."""
    used, members = _used(cut, (".go",), _GO_NOISE, _GO_USED)
    if not used:
        return [], set()
    found: list[NewName] = []
    sources = list(_sources(cut, (".go",)))
    for _, new, old in sources:
        was = {shown for _, shown in _declared(old)}
        before = {name for name, _ in _declared(old)}
        found += [
            NewName(name, shown)
            for name, shown in _declared(new)
            if name in used
            and shown not in was
            and (name not in before or shown.startswith("func "))
            and not _of_an_unused_type(shown, used, old, new)
        ]
    text = _GO_NOISE.sub(" ", "\n".join(new for _, new, _ in sources))
    open_names = _open(cut, members, found, text)
    for name in sorted(open_names)[:_MAX_NAMES]:
        field = re.search(_GO_FIELD % re.escape(name), text, re.MULTILINE)
        if field is not None:
            found.append(NewName(name, f"field {name} {field['type']}"))
    return found, open_names - {name.name for name in found}


def _of_an_unused_type(shown: str, used: set[str], old: str, new: str) -> bool:
    """Return whether this is a method of a type that is new and that no test names: another method is meant."""
    receiver = re.match(r"func \(\w*\s*\*?(\w+)", shown)
    if receiver is None or receiver[1] in used:
        return False
    declaration = f"type {receiver[1]} "
    return declaration in new and declaration not in old


def _used(
    cut: Cut, suffixes: tuple[str, ...], noise: re.Pattern[str], member: re.Pattern[str]
) -> tuple[set[str], set[str]]:
    """Return all words of the added lines of the hidden tests, and those used as members, properties or imports."""
    words: set[str] = set()
    members: set[str] = set()
    for path, file in cut.hidden.items():
        if file is None or not path.endswith(suffixes):
            continue
        added = added_numbers(file, cut.base.get(path))
        lines = decode(file.data)[:_MAX_FILE].split("\n")
        text = noise.sub(" ", "\n".join(line for number, line in enumerate(lines, 1) if number in added))
        words |= set(re.findall(r"[\w$]+", text))
        members |= {name for match in member.finditer(text) for name in match.groups() if name}
    return words, members


def _sources(cut: Cut, suffixes: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    """Yield each changed source file: its path, and its text after and before the fix."""
    for path, file in cut.fix.items():
        if file is not None and path.endswith(suffixes):
            old = cut.base.get(path)
            yield path, decode(file.data)[:_MAX_FILE], decode(old.data)[:_MAX_FILE] if old is not None else ""


def _open(cut: Cut, members: set[str], found: Iterable[NewName], fix: str) -> set[str]:
    """Return the members that the tests use, the fix has, and the base has nowhere."""
    candidates = members - {name.name for name in found}
    return absent(candidates & set(re.findall(r"[\w$]+", fix)), cut.base)


def _exports(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the exports of a file: name, signature, and what it is called where its parameters have to be looked up."""
    for match in _JS_EXPORT.finditer(text):
        name = match["name"] or match["member"]
        kind = " ".join((match["kind"] or "exports").split())
        callable_ = kind.split()[-1] not in {"class", "enum", "type", "interface"}
        parameters = _parameters(text, match.end()) if callable_ else ""
        yield name, f"export {kind} {name}{parameters}" if match["name"] else f"exports.{name}{parameters}", ""
    for match in _JS_LIST.finditer(text):
        for entry in match[1].split(","):
            names = _JS_ENTRY.fullmatch(entry)
            if names is not None:
                yield names[2] or names[1], f"export {names[2] or names[1]}", names[1]
    for match in _JS_WHOLE.finditer(text):
        yield match[1], f"module.exports = {match[1]}", match[1]


def _local_parameters(name: str, text: str) -> str:
    pattern = rf"\b(?:function ?\*? ?{re.escape(name)}(?= ?\()|(?:const|let|var) {re.escape(name)}(?= ?=[^=]))"
    found = (_parameters(text, match.end()) for match in re.finditer(pattern, text))
    return next((parameters for parameters in found if parameters), "")


def _javascript_member(name: str, text: str) -> str:
    word = re.escape(name)
    marks = r"(?:(?:async|static|get|set|public|protected) ){0,3}"
    method = re.search(rf"^[ \t]{{1,40}}(?P<marks>{marks}){word}(?= ?\([^\n;]{{0,300}}\{{ *$)", text, re.MULTILINE)
    if method is not None:
        return f"{method['marks']}{name}{_parameters(text, method.end())}"
    assigned = re.search(rf"\.{word} ?(?==[^=])", text)
    parameters = _parameters(text, assigned.end()) if assigned is not None else ""
    if parameters:
        return f"{name}{parameters}"
    return f"property {name}" if re.search(rf"\.{word}\b|\b{word}\??:|[{{,]\s{{0,80}}{word}\b", text) else ""


def _parameters(text: str, place: int) -> str:
    """Return the parameter list that begins soon after ``place``, without defaults, and the type that follows it."""
    opening = _JS_CALLABLE.match(text, place)
    if opening is None:
        return ""
    shown, depth, skipping = "", 0, 0
    for position in range(opening.end(), min(len(text), opening.end() + _MAX_PARAMETERS)):
        letter = text[position]
        if letter in ")}]," and skipping == depth:
            shown, skipping = f"{shown} " if letter == "}" else shown, 0
        depth += (letter in "({[") - (letter in ")}]")
        if letter == "=" and not skipping and text[position + 1 : position + 2] != ">":
            shown, skipping = f"{shown.rstrip()} = ...", depth
        elif not skipping:
            shown += letter
        if depth == 0:
            returns = _RETURNS.match(text, position + 1)
            return " ".join(shown.split()) + (returns[0].rstrip() if returns else "")
    return ""


def _declared(text: str) -> Iterator[tuple[str, str]]:
    for match in _GO_FUNCTION.finditer(text):
        yield match["name"], f"func {match['on'] or ''}{match['name']}{match['rest'].rstrip()}"
    for match in _GO_TYPE.finditer(text):
        yield match["name"], " ".join(f"type {match['name']} {match['rest'] or ''}".split())
    for match in _GO_VALUE.finditer(text):
        yield match["name"], match[0]
    group = _GO_GROUP.search(text)
    while group is not None:
        end = text.find("\n)", group.end() - 1)
        if end < 0:
            return
        for match in _GO_MEMBER.finditer(text, group.end(), end):
            yield match["name"], f"{group[1]} {match['name']}"
        group = _GO_GROUP.search(text, end)
