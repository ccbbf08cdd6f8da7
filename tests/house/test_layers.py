"""Rooms lie in layers: each imports from its own layer and from those below, in functions too."""

from __future__ import annotations

import ast
from pathlib import Path

import covshift

PACKAGE = Path(covshift.__file__).parent

LAYERS = (
    ("exceptions", "registry"),
    ("show",),  # words, notes and tables
    ("numerics",),  # arrays in, arrays out
    ("operators",),
    ("data", "encoding", "margins", "files", "datasets"),  # frames and what becomes of them
    ("weights",),
    ("corrections",),
    ("machine", "objectives", "torch", "robust", "bounds"),
    ("boosting",),
    ("diagnostics",),
    ("engine",),
    ("estimates",),
    ("evaluations", "conformal", "comparison"),
    ("plot",),
    ("report", "persistence", "distributed"),
    ("testing",),
    ("cli",),
    ("__main__",),
)
DRAWS = "an answer draws itself, and the room of pictures is imported when it does"
UPWARD = {  # imports that point up, each with the reason; none is added
    ("numerics.kernels", "data.features"): "kernels belong above the features of a table",
    ("numerics.kernels", "data.parameters"): "the rules of parameters need no frame: they go down",
    ("numerics.support", "data.features"): "where the target has no rows belongs above features",
    ("conformal.result", "plot"): DRAWS,
    ("diagnostics.batches", "plot"): DRAWS,
    ("diagnostics.margins_result", "plot"): DRAWS,
    ("diagnostics.result", "plot"): DRAWS,
    ("engine.explanation", "plot"): DRAWS,
    ("estimates.result", "plot"): DRAWS,
    ("evaluations.pictures", "plot"): DRAWS,
    ("evaluations.pictures", "plot.style"): DRAWS,
}


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imported(module: str, path: Path) -> set[str]:
    """The modules of covshift that a module imports anywhere, but for the sake of types."""
    tree, found = ast.parse(path.read_text(encoding="utf-8")), set()
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    inside = ("covshift", *path.relative_to(PACKAGE).parts)
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or id(node) in for_types:
            continue
        base = ".".join(inside[: len(inside) - node.level]) if node.level else ""
        full = f"{base}.{node.module}".strip(".") if node.module else base
        for alias in node.names:
            names = (f"{full}.{alias.name}", full)
            known = [
                name.removeprefix("covshift.") for name in names if name.startswith("covshift")
            ]
            found |= set([name for name in known if name in MODULES][:1])
    return found - {module}


def layer_of(module: str) -> int:
    room = module.partition(".")[0]
    return next(level for level, rooms in enumerate(LAYERS) if room in rooms)


def test_every_room_has_a_layer():
    rooms = {module.partition(".")[0] for module in MODULES if module}
    assert rooms == {room for layer in LAYERS for room in layer}


def test_imports_point_down_but_for_a_list_that_shrinks():
    upward = {
        (module, other)
        for module, path in MODULES.items()
        for other in imported(module, path)
        if module and other and layer_of(other) > layer_of(module)
    }
    assert upward == UPWARD.keys(), "import from below; take from the list what is mended"
