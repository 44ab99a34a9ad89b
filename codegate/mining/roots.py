"""The folders that a project's own modules are imported from."""

from codegate.languages.contract import is_test_data
from codegate.suite import Subtree, Tree, is_plain_path
from codegate.suite.declared import lines, read_ini, read_toml, strings, value_at


def import_roots(tree: Tree) -> tuple[str, ...]:
    """Return the folders from which ``tree``'s code is imported.

    These are its top, ``src``, folders that its configuration names, and ``lib`` and ``python`` if they exist. If
    ``tree`` is a part of a repository, the paths are relative to the repository's root. Then the import roots of the
    repository's other projects follow, and the root itself.
    """
    roots = _roots(tree)
    if not isinstance(tree, Subtree):
        return roots
    declaring = (path for path in tree.whole if path.endswith("/pyproject.toml") and not is_test_data(path))
    others = [folder for path in declaring if (folder := path.rpartition("/")[0]) != tree.folder]
    places = [(tree.folder, roots), *((folder, _roots(Subtree(tree.whole, folder))) for folder in others)]
    found = [f"{folder}/{root}".rstrip("/") for folder, own in places for root in own]
    return tuple(dict.fromkeys([*found, ""]))


def _roots(tree: Tree) -> tuple[str, ...]:
    project = read_toml(tree, "pyproject.toml")
    setup_cfg = read_ini(tree, "setup.cfg")
    roots = ["", "src"]
    roots += strings(value_at(project, "tool", "pytest", "ini_options", "pythonpath"))
    roots += strings(value_at(project, "tool", "setuptools", "packages", "find", "where"))
    roots += strings(value_at(project, "tool", "setuptools", "package-dir", ""))
    roots += lines(setup_cfg.get("options.packages.find", {}).get("where", ""))
    roots += [root for root in ("lib", "python") if any(path.startswith(f"{root}/") for path in tree)]
    plain = [root.removeprefix("./").rstrip("/") for root in roots]
    return tuple(
        dict.fromkeys("" if root == "." else root for root in plain if root in {"", "."} or is_plain_path(root))
    )
