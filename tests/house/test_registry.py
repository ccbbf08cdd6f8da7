"""One table of names: every list of corrections, weighters and learners is read from it."""

from __future__ import annotations

import ast
import subprocess
import sys
import warnings
from dataclasses import fields
from inspect import signature
from pathlib import Path
from typing import Any

import array_api_strict
import numpy as np
import portable
import pytest
from sklearn.utils.validation import has_fit_parameter

import covshift
from covshift import Kernel
from covshift.cli.commands import command, parse
from covshift.comparison.methods import fit_method, methods_for, resolve
from covshift.corrections import CORRECTIONS, Correction, Importance, as_correction
from covshift.corrections.auto import candidates
from covshift.diagnostics.sizes import METHODS, row_limit
from covshift.exceptions import InputError
from covshift.registry import (
    FILES,
    LEARNERS,
    METRICS,
    QUANTITIES,
    TABLE,
    CorrectionEntry,
    Entry,
    LearnerEntry,
    MetricEntry,
    QuantityEntry,
    WeighterEntry,
    corrections,
    learners,
    register,
    weighters,
)
from covshift.weights import WEIGHTERS, Weighter, as_weighter

rng = np.random.default_rng(0)
X, T = rng.normal(size=(30, 3)), rng.normal(0.4, 1.0, size=(25, 3))
NUMBER = X[:, 0] + 0.1 * rng.normal(size=30)
KINDS = {
    "correction": (CorrectionEntry, corrections, CORRECTIONS),
    "weighter": (WeighterEntry, weighters, WEIGHTERS),
    "learner": (LearnerEntry, learners, LEARNERS),
}


def names(entries) -> list[str]:
    return [entry.name for entry in entries]


def test_each_name_stands_for_one_entry_of_one_kind():
    everywhere = [name for _, _, derived in KINDS.values() for name in derived]
    assert sorted(everywhere) == sorted(TABLE) == sorted(set(everywhere))
    assert all(name == entry.name for name, entry in TABLE.items())
    assert "auto" not in TABLE
    for name, entry in [*METRICS.items(), *QUANTITIES.items()]:
        assert name == entry.name
        assert callable(entry.load())


@pytest.mark.parametrize("kind", KINDS)
def test_the_lists_of_names_are_those_of_the_table(kind):
    entry_kind, entries, derived = KINDS[kind]
    found = [name for name, entry in TABLE.items() if isinstance(entry, entry_kind)]
    assert list(derived) == names(entries()) == found
    assert len(derived) == len(found)
    for name in found:
        assert derived[name] == TABLE[name].load()
    with pytest.raises(KeyError):
        derived["no such name"]


def test_a_kernels_width_has_one_name():
    ours = [kind for entry in learners() for kind in entry.load()]
    ours += [entry.load() for entry in [*corrections(), *weighters()]] + [Kernel]
    found = {kind.__name__: set(signature(kind).parameters) for kind in ours}
    assert not [name for name, own in found.items() if own & {"gamma", "bandwidth", "sigma"}]
    widths = {name for name, parameters in found.items() if "width" in parameters}
    assert widths == {"Kernel", "KDE", "KMM", "KLIEP", "ULSIF", "RULSIF"}


def test_a_taken_or_reserved_name_is_refused():
    for name, words in (("kliep", "is taken"), ("auto", "cannot be"), ("a:b", "cannot be")):
        with pytest.raises(ValueError, match=words):
            register(CorrectionEntry(name=name, about="", path="covshift.corrections:Additive"))
    with pytest.raises(ValueError, match="'bias' is taken: mean of prediction"):
        register(MetricEntry(name="bias", about="", path="builtins:abs"))
    with pytest.raises(ValueError, match="'cdf' is taken: share of outcomes"):
        register(QuantityEntry(name="cdf", about="", path="builtins:abs"))
    with pytest.raises(ValueError, match="'magic' is neither in NEEDS nor in CAN"):
        Entry(name="x", about="", needs=frozenset({"magic"}))


def test_the_table_is_read_without_scikit_learn():
    code = "import sys, covshift.registry; print({'numpy', 'scipy', 'sklearn'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_names_lead_downward_only():
    """`import_module` in the registry is no way around the layers."""
    assert all(entry.path.startswith("covshift.corrections.") for entry in corrections())
    assert all(entry.path.startswith("covshift.weights.") for entry in weighters())
    for entry in learners():
        for path in (entry.classifier, entry.regressor):
            assert path.startswith(("covshift.machine:", "covshift.boosting:", "sklearn."))
    assert all(entry.path.startswith("covshift.evaluations.") for entry in METRICS.values())
    assert all(entry.path.startswith("covshift.estimates.") for entry in QUANTITIES.values())


def test_no_file_of_the_package_has_a_list_of_names_of_its_own():
    package = Path(covshift.__file__).parent
    others = {
        "registry.py",
        "weights/cdf/views.py",  # views that CDFWeights may match, called as in the corrections
    }
    for path in package.rglob("*.py"):
        inside = path.relative_to(package)
        if inside.as_posix() in others:
            continue
        text = path.read_text(encoding="utf-8")
        if sum(f'"{name}"' in text for name in TABLE) < 2:
            continue
        for node in ast.walk(ast.parse(text)):
            parts = getattr(node, "elts", None) or getattr(node, "keys", None)
            words = {getattr(part, "value", None) for part in parts or []}
            found = {word for word in words if isinstance(word, str)} & TABLE.keys()
            assert len(found) < 2, f"{path}:{node.lineno}: {found}"


# What the entries say of themselves


@pytest.mark.part(3)
@pytest.mark.parametrize("name", CORRECTIONS)
def test_what_a_correction_needs_and_can_is_true(name):
    entry, correction = TABLE[name], as_correction(name)
    assert isinstance(correction, Correction)
    if "random_state" in correction.get_params():
        correction.set_params(random_state=0)
    assert ("blocks" in entry.can) == correction.by_blocks
    assert ("all pairs of rows" in entry.needs) == (not correction.by_blocks)
    V, other = (correction.operator(X, target).dense() for target in (T, T + 0.5))
    assert ("target rows" in entry.needs) == (not np.array_equal(V, other))
    assert ("weights" in entry.needs) == (getattr(correction, "weights", None) is not None)
    if "weights" not in entry.needs:  # they are found on the CPU, and put where X is
        portable.agrees_with_numpy(
            correction, array_api_strict.asarray, np.asarray, tied=False, dtype="float64"
        )


@pytest.mark.parametrize("name", WEIGHTERS)
def test_a_weighter_s_name_stands_for_its_weights_everywhere(name):
    weighter = as_weighter(name)
    assert isinstance(weighter, Weighter)
    assert isinstance(as_correction(name), Importance)
    assert row_limit(name) == TABLE[name].rows
    for learner in LEARNERS:
        resolve(learner, name)
        compared = TABLE[name].compared_up_to >= 3
        assert (name in [method.name for method in methods_for(learner, 3)]) == compared


@pytest.mark.parametrize("name", LEARNERS)
def test_what_a_learner_needs_and_can_is_true(name):
    entry = TABLE[name]
    for task, kind in zip(("classification", "regression"), LEARNERS[name], strict=True):
        model = entry.make(task)
        assert type(model) is kind
        takes_v = "correction" in model.get_params() and has_fit_parameter(model, "X_target")
        assert ("V" in entry.can) == takes_v
        assert ("V" in entry.can) == ("target rows" in entry.needs)
        assert ("sample weights" in entry.can) == has_fit_parameter(model, "sample_weight")
        assert ("blocks" in entry.can) == hasattr(model, "partial_fit")
        assert entry.tuned is None or model.get_params()[entry.tuned] == "cv"
    assert entry.default is None or resolve(name, entry.default) == (entry, entry.default)
    two = np.column_stack([NUMBER, -NUMBER])
    model = entry.make("regression")
    if "many outputs" in entry.can:
        assert model.fit(X, two).predict(T).shape == (25, 2)
    else:
        with pytest.raises(ValueError):  # noqa: PT011 (the words are scikit-learn's)
            model.fit(X, two)


@pytest.mark.part(3)
@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_learner_is_fitted_by_its_name_and_saved_if_it_says_so(name, task, tmp_path):
    y = (NUMBER > 0).astype(str) if task == "classification" else NUMBER
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit_method(name, TABLE[name].default, task, X, y, T)
    assert type(model) in LEARNERS[name]
    if TABLE[name].default is None and "V" in TABLE[name].can:
        assert model.selection_report_["chosen"] in candidates(np.ones(30))
    if FILES not in TABLE[name].can:
        with pytest.raises(InputError, match="cannot be saved"):
            covshift.save(model, tmp_path / "m.covshift")
        return
    covshift.save(model, tmp_path / "m.covshift")
    again = covshift.load(tmp_path / "m.covshift")
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.predict(T), model.predict(T))


# What is read from the table


def test_auto_tries_what_the_table_says_under_names_that_stand_for_it():
    flagged = names(entry for entry in [*corrections(), *weighters()] if entry.in_auto)
    found = candidates(np.ones(30))
    assert list(found) == flagged
    assert next(iter(found)) == "none"
    for name, candidate in found.items():
        assert type(candidate) is type(as_correction(name))


def test_diagnoses_show_the_weighters_that_the_table_says():
    assert list(METHODS) == names(entry for entry in weighters() if entry.in_diagnosis)


def test_comparisons_cross_cells_of_few_columns_only():
    for n, found in ((3, True), (4, False)):
        assert ("poststratification" in names(methods_for("linear", n))) == found
        assert "raking" in names(methods_for("linear", n))


def test_comparisons_try_the_corrections_that_the_table_says():
    for n, more in ((10, set()), (4, {"pairwise"}), (3, {"pairwise", "multiplicative"})):
        found = {m.name for m in methods_for("vsvm", n) if m.kind == "correction"}
        assert found == {"blended", "additive", "sliced"} | more
    assert {m.name for m in methods_for("vboost", 2) if m.kind == "correction"} == {"blended"}
    beside = [m.name for m in methods_for("trees", 2) if m.kind == "correction"]
    assert beside == ["vsvm:none", "vsvm:blended"]


def options_of(name: str) -> dict[str, Any]:
    return {param.name: param for param in command(name).params}


@pytest.mark.parametrize("command", ["compare", "fit", "report"])
def test_the_command_line_offers_the_learners_of_the_table(command):
    option = options_of(command)["learner"]
    assert list(option.type.choices) == list(LEARNERS)
    assert option.default == next(iter(LEARNERS))
    for entry in learners():
        assert entry.about in option.help
        assert f"{entry.max_rows} for {entry.name}" in options_of(command)["max_rows"].help


def test_the_command_line_offers_the_metrics_and_quantities_of_the_registry():
    asked = options_of("estimate")["what"]
    assert tuple(asked.type.choices) == tuple(QUANTITIES)
    assert all(name in options_of("evaluate")["metric"].help for name in METRICS)
    spelled = {"q": "quantile", "regressors": "regressor", "size": "population_size"}
    for entry in QUANTITIES.values():
        for option in (
            spelled.get(field.name, field.name) for field in fields(entry.load()) if field.init
        ):
            assert option in options_of("estimate")


def test_the_command_line_lists_the_methods_of_the_table():
    methods = options_of("fit")["method"].help
    assert ", ".join(WEIGHTERS) in methods
    assert ", ".join(CORRECTIONS) in methods
    saved = [entry for entry in learners() if FILES in entry.can]
    for entry in saved:
        assert entry.default is None or f"{entry.default} for {entry.name}" in methods
    chosen = ", ".join(names(entry for entry in saved if entry.default is None))
    assert f"for {chosen} a choice by held-out rows" in methods
    weights = options_of("weigh")["method"]
    assert all(name in weights.help for name in WEIGHTERS)
    assert parse(["weigh", "a", "b"]).method is None  # what `estimate` uses
