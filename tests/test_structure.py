"""Imports point downward, the package is cheap to import, and it changes no global setting."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import covshift

PACKAGE = Path(covshift.__file__).parent

LAYERS = [
    [
        "_optional",
        "registry",
        "_files",
        "_parallel",
        "_quiet",
        "_slow",
        "_parameters",
        "_parquet",
        "_compiled",
        "_progress",
        "_array",
        "_row_units",
        "_ties",
        "_hashing",
        "_row_sample",
        "_frames",
        "_dates",
        "_both_samples",
        "_groups",
        "encoding",
        "exceptions",
        "_numbers",
        "_validation",
        "_row_weights",
        "_labels",
        "_types",
        "_values",
        "_lapack",
        "_moments",
        "_holm",
        "_spreadsheet",
        "show",
        "_feature_columns",
        "_support",
        "_overlap",
        "_gains",
        "_fields",
        "_ridge",
        "_influence",
        "_resampling",
        "_replicates",
        "_bins",
    ],
    [
        "operators",
        "_device",
        "_gaussian",
        "_kernels",
        "_kernel_sum",
        "_coordinates",
        "datasets",
        "_tables",
        "_qp",
        "margins",
    ],
    ["_folds"],
    ["weights"],
    ["corrections", "_two_samples", "_distances", "_crossfit"],
    ["_fit_data", "plot", "data"],
    ["machine", "boosting", "robust", "reweighted", "objectives", "torch"],
    ["bounds", "diagnostics", "distributed"],
    ["estimates"],
    ["evaluations", "conformal"],
    ["comparison", "persistence"],
    ["report"],
    ["testing"],
    ["cli"],
    ["__main__"],
]
"""Lowest first. A module may import from its own layer or from a lower one."""

HOME = {name: level for level, names in enumerate(LAYERS) for name in names}


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported_parts(path: Path) -> set[str]:
    """Top-level parts of covshift that a file imports, read from its source."""
    inside = path.relative_to(PACKAGE).parts
    found = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ImportFrom):
            base = list(inside[: len(inside) - node.level]) if node.level else []
            module = (node.module or "").split(".") if node.module else []
            full = base + module if node.level else module
            if node.level == 0 and (not full or full[0] != "covshift"):
                continue
            full = full[1:] if node.level == 0 else full
            found |= {full[0]} if full else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
            found |= {name[1] for name in names if name[0] == "covshift" and len(name) > 1}
    return found


SOURCES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def test_imports_point_downward():
    upward = set()
    for path in SOURCES:
        own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        assert own in HOME, f"{own} has no layer: add it to LAYERS"
        higher = {part for part in imported_parts(path) if HOME[part] > HOME[own]}
        upward |= {f"{path.relative_to(PACKAGE)} imports {part}" for part in higher}
    assert not upward


def test_the_package_does_not_need_the_papers_experiments():
    """They are beside the package, and not in the wheel."""
    for path in SOURCES:
        tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        froms = [node.module or "" for node in tree if isinstance(node, ast.ImportFrom)]
        assert not any(name.startswith("reproduction") for name in froms), path


def test_no_file_hides_an_import_of_ours_from_the_layers():
    """What `import_module` loads is not seen above: it is for other packages and lazy names."""
    # tests/test_registry.py says what the registry may name.
    lazy = {
        "__init__.py",
        "_optional.py",
        "_compiled.py",
        "registry.py",
        "cli/parser.py",
        "cli/imports.py",
    }
    hidden = {
        str(path.relative_to(PACKAGE)) for path in SOURCES if "import_module(" in path.read_text()
    }
    assert hidden <= lazy


def test_only_the_device_room_imports_pytorch():
    """And it does so when first called, so that no other part waits for PyTorch to load."""
    for path in SOURCES:
        tree = parsed(path)
        lazy = path.relative_to(PACKAGE).parts[0] == "_device"
        for node in tree.body if lazy else ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [] if node.level else [node.module]
            assert not {"torch"} & {name.partition(".")[0] for name in names if name}, path


def test_the_layer_test_sees_relative_imports():
    parts = imported_parts(PACKAGE / "corrections" / "base.py")
    assert {"_array", "_validation", "operators", "exceptions"} <= parts


def run_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_import_brings_in_neither_numpy_nor_scikit_learn():
    code = "import sys, covshift; print({'numpy', 'scipy', 'sklearn'} & set(sys.modules))"
    assert run_python(code) == "set()"


def test_using_the_package_changes_no_global_setting():
    code = """
import locale, logging, warnings
import numpy, scipy.sparse, scipy.stats, sklearn, sklearn.base, sklearn.utils.validation
def state():
    return (sklearn.get_config(), numpy.geterr(), numpy.get_printoptions(), list(warnings.filters),
            numpy.random.get_state()[1].tolist(), locale.getlocale(), logging.root.level)
before = state()
import covshift
for name in covshift.__all__:
    getattr(covshift, name)
covshift.v_matrix([[0.0, 1.0], [1.0, 0.0]], correction=covshift.corrections.Sliced(random_state=0))
covshift.datasets.make_survey(50, 50, random_state=0)
print(state() == before)
"""
    assert run_python(code) == "True"


def test_every_public_name_can_be_reached():
    for name in covshift.__all__:
        assert getattr(covshift, name) is not None
    assert set(covshift.__all__) == set(dir(covshift))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'v_matrx'"):
        _ = covshift.v_matrx


def test_the_package_says_that_it_is_typed():
    assert (PACKAGE / "py.typed").exists()
