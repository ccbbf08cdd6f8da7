"""Commands import scikit-learn without what they do not use of it, and nothing but time changes."""

from __future__ import annotations

import subprocess
import sys

import pytest
from command import rows, write

HEAVY = ("pandas", "scipy.stats._stats_py", "scipy.interpolate._bsplines", "numpy.f2py")


def run_python(code: str, *argv: object) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, argv)], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_a_diagnosis_needs_neither_pandas_nor_scipy_stats(tmp_path):
    files = [write(tmp_path / f"{k}.csv", rows(60, k, label=False)) for k in (0, 1)]
    code = f"""
import sys
from covshift.cli import main
print(main(["diagnose", *sys.argv[1:]]), {{*{HEAVY}}} & {{*sys.modules}})
"""
    assert run_python(code, *files)[-1] == "0 set()"


def test_the_options_of_commands_need_no_library():
    """It is imported when a command runs: behind the stand-ins, and not for --help."""
    code = """
import sys
from covshift.cli.parser import COMMANDS, build_parser
for name in COMMANDS:
    build_parser(name)
print({"numpy", "sklearn"} & {*sys.modules})
"""
    assert run_python(code) == ["set()"]


@pytest.mark.thorough
def test_what_is_taken_from_a_stand_in_comes_from_the_true_module():
    code = """
import sys
from covshift.cli.run import Deferred, StandIn, import_scikit_learn
import_scikit_learn()
stand_in = StandIn.of("pandas")
from scipy.stats import rankdata
from scipy import interpolate
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import SplineTransformer
print(type(rankdata) is Deferred, type(interpolate) is StandIn, "pandas" in sys.modules)
print(roc_auc_score([0, 1, 0, 1], [0.1, 0.3, 0.2, 0.4]))
print(SplineTransformer(n_knots=3, degree=1).fit_transform([[0.0], [1.0], [2.0]]).tolist())
print(rankdata([3, 1, 2]).tolist(), rankdata.__name__)
import scipy.stats, scipy.interpolate, numpy.f2py
print([type(m) is StandIn for m in (scipy.stats, scipy.interpolate, numpy.f2py)])
print(interpolate.BSpline.__name__, scipy.stats.norm.cdf(0.0))
import pandas
print(stand_in.DataFrame is pandas.DataFrame, type(pandas) is StandIn, StandIn.of("pandas"))
"""
    assert run_python(code) == [
        "True True False",
        "1.0",
        "[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]",
        "[3.0, 1.0, 2.0] rankdata",
        "[False, False, False]",
        "BSpline 0.5",
        "True False None",
    ]


def test_a_process_that_has_scikit_learn_is_left_as_it_is():
    import sklearn  # noqa: F401

    from covshift.cli.run import StandIn, import_scikit_learn

    before = dict(sys.modules)
    import_scikit_learn()
    assert sys.modules == before
    assert not any(isinstance(module, StandIn) for module in before.values())


@pytest.mark.thorough
def test_where_stand_ins_do_not_serve_the_plain_import_does():
    code = """
import sys
from covshift.cli import run as imports
plain = imports.import_module
def refuse(name):
    if name == "sklearn.utils.fixes":
        sys.modules["sklearn.half"] = sys
        raise AttributeError("a version that asks for more")
    return plain(name)
imports.import_module = refuse
imports.import_scikit_learn()
import sklearn, scipy.stats
print("sklearn.half" in sys.modules, type(scipy.stats) is imports.StandIn)
from sklearn.linear_model import LogisticRegression
print(LogisticRegression().fit([[0.0], [1.0]], [0, 1]).predict([[2.0]]).tolist())
"""
    assert run_python(code) == ["False False", "[1]"]
