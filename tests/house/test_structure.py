"""Imports go in no circle, the package is cheap to import, and it changes no global setting."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import covshift
from covshift import VSVR, compare, estimate, evaluate
from covshift.exceptions import InputError

PACKAGE = Path(covshift.__file__).parent


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


SOURCES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def name_of(path: Path) -> str:
    """The module of a file, without the package's own name."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in SOURCES}


def imported(path: Path) -> set[str]:
    """Modules of covshift that a file imports when it is imported, read from its source."""
    found = set()
    inside = ("covshift", *path.relative_to(PACKAGE).parts)
    for node in parsed(path).body:
        if isinstance(node, ast.ImportFrom):
            base = inside[: len(inside) - node.level] if node.level else ()
            full = ".".join([*base, node.module] if node.module else base)
            for alias in node.names:
                for name in (f"{full}.{alias.name}", full):
                    name = name.removeprefix("covshift").removeprefix(".")
                    if name in MODULES:
                        found.add(name)
                        break
    return found


def test_no_imports_go_in_a_circle():
    below: dict[str, set[str]] = {name: imported(path) for name, path in MODULES.items()}
    while free := {name for name, needs in below.items() if not needs}:
        below = {name: needs - free for name, needs in below.items() if name not in free}
    assert not below


def test_the_house_stays_small():
    assert len(list(PACKAGE.glob("*.py"))) <= 8


def test_the_package_does_not_need_the_papers_experiments():
    """They are beside the package, and not in the wheel."""
    for path in SOURCES:
        if "reproduction" not in path.read_text(encoding="utf-8"):
            continue
        tree = ast.walk(parsed(path))
        froms = [node.module or "" for node in tree if isinstance(node, ast.ImportFrom)]
        assert not any(name.startswith("reproduction") for name in froms), path


def test_no_file_hides_an_import_of_ours_from_the_layers():
    """What `import_module` loads is not seen above: it is for other packages and lazy names."""
    # tests/house/test_registry.py says what the registry may name.
    lazy = {
        "__init__.py",
        "data/__init__.py",
        "exceptions.py",
        "numerics/parallel.py",
        "registry.py",
        "cli/commands.py",
        "cli/run.py",
    }
    hidden = {
        str(path.relative_to(PACKAGE)) for path in SOURCES if "import_module(" in path.read_text()
    }
    assert hidden <= lazy


def test_only_the_device_room_imports_pytorch():
    """And it does so when first called, so that no other part waits for PyTorch to load."""
    for path in SOURCES:
        tree = parsed(path)
        lazy = path.relative_to(PACKAGE).parts[:2] == ("numerics", "device")
        for node in tree.body if lazy else ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [] if node.level else [node.module]
            assert not {"torch"} & {name.partition(".")[0] for name in names if name}, path


def test_the_test_of_circles_sees_relative_imports():
    found = imported(PACKAGE / "corrections" / "base.py")
    assert {"numerics.array", "data.validation", "exceptions"} <= found


def run_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_import_brings_in_neither_numpy_nor_scikit_learn():
    code = "import sys, covshift; print({'numpy', 'scipy', 'sklearn'} & set(sys.modules))"
    assert run_python(code) == "set()"


@pytest.mark.thorough
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


def checks_of_rows(call):
    """Count how often rows are looked through, cell by cell, in a call."""
    count = 0

    def seen(frame, event, arg):
        nonlocal count
        code = frame.f_code
        if event == "call" and code.co_name == "check_numbers":
            count += 1

    sys.setprofile(seen)
    try:
        call()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.thorough
def test_the_rows_of_both_samples_are_checked_once():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(60, 2)), rng.normal(0.2, 1, size=(50, 2))
    y = (X[:, 0] + rng.normal(size=60) > 0) * 1
    ridge, logistic = Ridge(), LogisticRegression().fit(X, y)
    assert checks_of_rows(lambda: estimate(X, y * 1.0, T, outcome_model=ridge)) == 2
    assert checks_of_rows(lambda: evaluate(logistic, X, y, T, outcome_model=ridge)) == 2
    assert checks_of_rows(lambda: compare(X, y, T, learner="linear", n_folds=2)) == 2


def test_what_a_model_of_the_user_makes_of_rows_is_checked():
    """Only what came through the door is trusted: a transformer may make NaN of it."""
    spoils = make_pipeline(FunctionTransformer(lambda X: X / 0.0 * 0.0), VSVR(reg=1.0))
    X = np.random.default_rng(0).normal(size=(40, 2))
    with np.errstate(all="ignore"), pytest.raises(InputError, match="NaN"):
        estimate(X, X[:, 0], X + 0.1, outcome_model=spoils)
