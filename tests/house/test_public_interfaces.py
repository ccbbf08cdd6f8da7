"""Other packages are used through what they document: no private name of theirs is read."""

from __future__ import annotations

import ast
import re
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "src" / "covshift"
PRIVATE = re.compile(r"_(?!_)\w+|__pyx\w+")  # not the protocols of Python, `__array__` and so on
DOCUMENTED = {"_replace", "_fields", "_asdict", "_exit"}  # of named tuples and `os`

STILL_READ = {
    "boosting/histogram.py": {"_predictors", "_baseline_prediction"},
    "plot/style.py": {"_left_title", "_right_title"},
}


def trees():
    for path in sorted(SOURCES.rglob("*.py")):
        yield path.relative_to(SOURCES).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def defined(tree):
    """Private names that a module defines: functions, classes, variables, attributes, arguments."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr
        elif isinstance(node, ast.arg):
            yield node.arg


def is_ours(node):
    """Whether an import is from covshift itself."""
    return node.level > 0 or (node.module or "").split(".")[0] == "covshift"


def read_elsewhere(tree, ours):
    """Private names of other packages that a module reads."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not is_ours(node) and node.module != "__future__":
            names = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [part for alias in node.names for part in alias.name.split(".")]
        elif isinstance(node, ast.Attribute):
            names = [node.attr] if node.attr not in ours else []
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in {"getattr", "hasattr"}:
            name = getattr(node.args[1], "value", None)
            names = [name] if isinstance(name, str) and name not in ours else []
        else:
            continue
        yield from (name for name in names if PRIVATE.fullmatch(name))


def test_no_private_name_of_another_package_is_read():
    modules = dict(trees())
    ours = {name for tree in modules.values() for name in defined(tree)} | DOCUMENTED
    found = {path: set(read_elsewhere(tree, ours)) for path, tree in modules.items()}
    found = {path: names for path, names in found.items() if names}
    assert found == STILL_READ, "use what is documented; take from the list what is mended"


def test_the_search_finds_each_way_to_read_one():
    text = """
from sklearn.utils import _safe_indexing
import numpy._core as core
model._predictors, getattr(torch, "_int_mm"), blas.__pyx_capi__, self._own, pair._replace(a=1)
"""
    ours = {"_own"} | DOCUMENTED
    expected = {"_safe_indexing", "_core", "_predictors", "_int_mm", "__pyx_capi__"}
    assert set(read_elsewhere(ast.parse(text), ours)) == expected
