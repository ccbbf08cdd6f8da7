"""Use an installed covshift; run by the Python of its environment, away from the source tree.

With --core no extra is there, and what needs one must say which. With --cli the demo runs too.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np

import covshift

SCRIPT = Path(sys.executable).with_name("covshift")


def main() -> None:
    here = Path(covshift.__file__).resolve()
    assert "site-packages" in here.parts, f"{here} is not the installed package"
    assert covshift.__version__ == version("covshift")
    with tempfile.TemporaryDirectory() as folder:
        model, T = _learn_and_answer()
        if "--core" in sys.argv:
            _extras_are_named(model, Path(folder))
        if "--cli" in sys.argv:
            _save_and_load(model, T, Path(folder))
            _ask_the_command_line(Path(folder))
            _command(Path(folder), "demo")
            assert list(Path(folder).rglob("*.html"))
    print(f"covshift {covshift.__version__} on Python {sys.version.split()[0]} works.")


def _learn_and_answer() -> tuple[covshift.VSVC, np.ndarray]:
    for name in covshift.__all__:
        getattr(covshift, name)
    survey = covshift.datasets.make_survey(200, 300, random_state=0)
    found = covshift.estimate(survey.X, survey.y, survey.X_target)
    assert found.interval[0] <= found.value <= found.interval[1]
    assert "%" in found.sentence
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(80, 2)), rng.normal(0.5, 1, size=(60, 2))
    model = covshift.VSVC("blended").fit(X, X[:, 0] > 0, X_target=T)
    assert str(covshift.diagnose(X, T))
    return model, T


def _save_and_load(model: covshift.VSVC, T: np.ndarray, folder: Path) -> None:
    covshift.save(model, folder / "model.covshift")
    again = covshift.load(folder / "model.covshift")
    assert np.array_equal(again.predict_proba(T), model.predict_proba(T))


def _ask_the_command_line(folder: Path) -> None:
    assert _command(folder, "--version").split()[-1] == covshift.__version__
    assert "diagnose" in _command(folder, "--help")
    rng = np.random.default_rng(0)
    for name, shift in (("train", 0.0), ("target", 0.5)):
        rows = "".join(f"{a:.6f},{b:.6f}\n" for a, b in rng.normal(shift, 1, size=(60, 2)))
        (folder / f"{name}.csv").write_text("a,b\n" + rows)
    assert "a" in _command(folder, "diagnose", "train.csv", "target.csv")


def _extras_are_named(model: covshift.VSVC, folder: Path) -> None:
    """Nothing is installed beyond what the core declares, and what needs more says so."""
    for extra in ("matplotlib", "pandas", "pyarrow", "jinja2", "openpyxl", "click", "skops"):
        assert _absent(extra), f"{extra} came along with the core"
    X = np.random.default_rng(0).normal(size=(30, 2))
    uses = {
        "pip install matplotlib": lambda: covshift.diagnose(X, X + 0.3).plot(),
        "pip install skops": lambda: covshift.save(model, folder / "model.covshift"),
    }
    for advice, use in uses.items():
        try:
            use()
        except covshift.exceptions.MissingExtraError as error:
            said = str(error)
        assert advice in said, f"{advice} is not in: {said}"
    done = subprocess.run([SCRIPT, "--version"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 1
    assert 'pip install "covshift[cli]"' in done.stderr


def _absent(module: str) -> bool:
    try:
        __import__(module)
    except ImportError:
        return True
    return False


def _command(folder: Path, *words: str) -> str:
    done = subprocess.run([SCRIPT, *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, f"covshift {' '.join(words)}: {done.stdout}{done.stderr}"
    return done.stdout


if __name__ == "__main__":
    main()
