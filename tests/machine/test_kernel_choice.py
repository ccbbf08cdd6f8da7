"""What the machines find by themselves is the same however the rows arrive."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils import get_tags

from covshift import VSVC, VSVR, Kernel, load, save
from covshift.distributed import fit_blocks, from_arrays
from covshift.exceptions import InputError, UnseenLevelWarning
from covshift.numerics.hashing import RowUnits
from covshift.numerics.row_sample import RowSample, label_keys

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 3))
y = np.where(X[:, 0] + 0.5 * rng.normal(size=90) > 0, "yes", "no")
T = rng.normal(0.3, 1, size=(40, 3))


def fitted(X, y, correction="none", **options):
    made = VSVC if np.asarray(y).dtype.kind in "UO" else VSVR
    weights = {name: options.pop(name) for name in [*options] if name.endswith("weight")}
    machine = made(correction, fast=True, random_state=0, **options)
    machine.fit(X, y, X_target=T, **weights)
    return machine.decision_function(T) if made is VSVC else machine.predict(T)


@pytest.mark.part(6)
@pytest.mark.parametrize("solver", ["dual", "primal"])
@pytest.mark.parametrize("outcome", [y, X[:, 0] ** 2])
def test_the_order_of_the_rows_does_not_matter(solver, outcome):
    order = np.random.default_rng(1).permutation(90)
    one = fitted(X, outcome, solver=solver)
    np.testing.assert_allclose(one, fitted(X[order], outcome[order], solver=solver), atol=1e-6)


def test_the_scale_of_weights_does_not_change_the_kernel():
    w = np.random.default_rng(3).uniform(1, 2, 90)
    kernels = [
        VSVR("none", fast=True).fit(X, X[:, 0], sample_weight=scale * w).kernel_.kernel
        for scale in (1.0, 1000.0)
    ]
    np.testing.assert_allclose(kernels[0].relevance, kernels[1].relevance, rtol=1e-6)


@pytest.mark.parametrize("outcome", [y, X[:, 0] ** 2])
def test_blocks_choose_and_fit_as_all_rows_do(outcome):
    made = VSVC if outcome is y else VSVR
    options = {"fast": True, "solver": "primal", "random_state": 0}
    whole = made("none", **options).fit(X, outcome, X_target=T)
    blocks = from_arrays(X, outcome, batch_rows=20)
    parts = fit_blocks(made(**options), blocks, X_target=T)
    predict = "predict_proba" if made is VSVC else "predict"
    np.testing.assert_allclose(getattr(whole, predict)(T), getattr(parts, predict)(T), atol=1e-6)


def test_a_sample_of_blocks_is_the_sample_of_all_rows():
    big = np.random.default_rng(4).integers(0, 30, size=(20_000, 2)).astype(float)
    outcome, weight = big[:, 0] % 3, np.ones(20_000)
    units = RowUnits.of(big)
    whole = RowSample.of(big, outcome, weight, units=units)
    parts = RowSample.of(big[:7000], outcome[:7000], weight[:7000], units=units)
    parts = parts.combine(RowSample.of(big[7000:], outcome[7000:], weight[7000:], units=units))
    for name in ("keys", "X", "y", "w"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(parts, name))
    assert whole.w.sum() == 20_000  # 900 distinct rows: all of them are there
    assert len(whole.keys) == 900


def test_equal_labels_have_equal_keys_in_any_array():
    np.testing.assert_array_equal(
        label_keys(np.array(["b", "a", "b"])), label_keys(np.array(["b", "a", "b"], dtype=object))
    )


def frame(rows=120, seed=6):
    draw = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": draw.integers(18, 80, rows),
            "region": pd.Categorical(draw.choice(["north", "south", "west"], rows)),
            "member": draw.uniform(size=rows) < 0.5,
            "sex": draw.choice(["f", "m"], rows),
        }
    )


def outcome_of(data):
    return data.age / 20 + 2 * (data.region == "west") + 1.0 * (data.sex == "m")


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_frames_with_categories_are_their_dummies(kind):
    """One column for each level, over sqrt 2: different levels are one apart, as two values are."""
    data, new = frame(), frame(50, seed=7)
    target = outcome_of(data)
    pooled = (data.age.mean() + new.age.mean()) / 2
    spread = np.sqrt(sum(((d.age - pooled) ** 2).mean() for d in (data, new)) / 2)

    def dummies(d):
        regions = [(d.region == level) / np.sqrt(2) for level in ("north", "south", "west")]
        age = (d.age - pooled) / spread
        return np.column_stack([age, *regions, d.member, d.sex == "m"]).astype(float)

    convert = {
        "pandas": lambda d: d,
        "polars": lambda d: pytest.importorskip("polars").from_pandas(d),
        "pyarrow": lambda d: pytest.importorskip("pyarrow").Table.from_pandas(d),
    }[kind]
    machine = VSVR("none", kernel=Kernel("rbf", width=2.0), reg=0.1).fit(
        convert(data), target, X_target=convert(new)
    )
    by_hand = clone(machine).set_params(kernel__coordinates="none").fit(dummies(data), target)
    np.testing.assert_allclose(
        machine.predict(convert(new)), by_hand.predict(dummies(new)), atol=1e-8
    )
    assert machine.n_features_in_ == 4


def test_the_levels_of_a_category_share_one_width():
    data = frame()
    width = VSVR(kernel=Kernel(relevance=True), fast=True).fit(data, outcome_of(data)).width_
    assert len(width) == 6
    assert len(set(width[1:4])) == 1
    assert width[0] != width[1]


def test_levels_that_only_the_target_has_are_no_error():
    data, new = frame(), frame(60, seed=8).astype({"region": str})
    new.loc[:5, "region"] = "island"
    machine = VSVR(fast=True).fit(data, outcome_of(data), X_target=new)
    assert np.isfinite(machine.predict(new)).all()


def test_a_level_that_the_fit_never_saw_warns_and_counts_as_none():
    data, new = frame(), frame(5, seed=8).astype({"region": str})
    new.loc[0, "region"] = "island"
    machine = VSVR(fast=True).fit(data, outcome_of(data))
    with pytest.warns(UnseenLevelWarning, match=r"'region'.*'island' \(1 of 5 rows\)"):
        found = machine.predict(new)
    assert np.isfinite(found).all()


def test_a_gap_is_a_level_and_a_missing_column_is_named():
    data = frame()
    gap = data.astype({"region": object})
    gap.loc[3, "region"] = None
    machine = VSVR(fast=True).fit(gap, outcome_of(data))
    assert np.isfinite(machine.predict(gap)).all()
    machine = VSVR(fast=True).fit(data, outcome_of(data))
    with pytest.raises(ValueError, match="region"):
        machine.predict(data.drop(columns="region"))
    with (
        pytest.warns(UserWarning, match="valid feature names"),
        pytest.raises(InputError, match="data frame with the columns of the fit"),
    ):
        machine.predict(np.ones((2, 4)))


def test_a_machine_of_a_frame_comes_back_from_its_file(tmp_path):
    data = frame()
    machine = VSVR(fast=True).fit(data, outcome_of(data))
    save(machine, tmp_path / "machine")
    np.testing.assert_array_equal(load(tmp_path / "machine").predict(data), machine.predict(data))


def test_a_width_needs_a_kernel_by_name_and_parts_must_exist():
    with pytest.raises(InputError, match=r"width=2\.0 needs a kernel by name"):
        VSVR(kernel=Kernel(width=2.0)).fit(X, X[:, 0])
    with pytest.raises(InputError, match="a list of some of 'linear'"):
        VSVR(kernel=["rbf", "poly"]).fit(X, X[:, 0])
    with pytest.raises(InputError, match="a list of some of 'linear'"):
        VSVR(kernel=["rbf", "rbf"]).fit(X, X[:, 0])


@pytest.mark.part(4)
@pytest.mark.parametrize("made", [VSVC, VSVR])
@pytest.mark.parametrize("name", ["cv", "rbf", ["linear", "rbf"], lambda a, b: float(a @ b)])
def test_a_name_is_a_kernel_of_default_options(made, name):
    outcome = y if made is VSVC else X[:, 0] ** 2
    one, other = (
        made(kernel=kernel, fast=True).fit(X, outcome, X_target=T)
        for kernel in (name, Kernel(name))
    )
    np.testing.assert_array_equal(one._values(T), other._values(T))


def test_a_kernel_is_cloned_shown_and_searched_by_its_options():
    machine = VSVR(kernel=Kernel("rbf", width=2.0), reg=0.1)
    assert repr(machine) == "VSVR(kernel=Kernel(name='rbf', width=2.0), reg=0.1)"
    again = clone(machine).set_params(kernel__width=0.5)
    assert (machine.kernel.width, again.kernel.width) == (2.0, 0.5)
    search = GridSearchCV(machine, {"kernel__width": [1e-3, 1.0, 1e3]}, cv=3)
    search.fit(X, np.sin(3 * X[:, 0]), X_target=(T,))
    assert search.best_params_ == {"kernel__width": 1.0}
    assert search.best_estimator_.width_ == 1.0
    assert machine.kernel.width == 2.0


def test_a_precomputed_kernel_may_be_an_object():
    K, outcome = X @ X.T, X[:, 0]
    one, other = (VSVR(kernel=kernel) for kernel in ("precomputed", Kernel("precomputed")))
    assert get_tags(other).input_tags.pairwise
    np.testing.assert_array_equal(one.fit(K, outcome).predict(K), other.fit(K, outcome).predict(K))
    with pytest.raises(InputError, match="needs points, not a precomputed kernel"):
        other.partial_fit(K, outcome)


@pytest.mark.parametrize("coordinates", ["standard", "none"])
def test_the_kernel_of_a_machine_can_be_handed_on(coordinates):
    kernel = Kernel("rbf", width=1.3, coordinates=coordinates)
    one = VSVR(kernel=kernel, reg=0.1).fit(X, X[:, 0] ** 2, X_target=T)
    other = VSVR(kernel=one.kernel_, reg=0.1).fit(X, X[:, 0] ** 2)
    np.testing.assert_allclose(other.predict(T), one.predict(T), atol=1e-9)


def test_a_kernel_comes_back_from_a_file_with_its_options(tmp_path):
    kernel = Kernel(["rbf", "main_effects"], coordinates="cdf", relevance=False)
    save(VSVR(kernel=kernel, fast=True).fit(X, X[:, 0]), tmp_path / "machine")
    again = load(tmp_path / "machine")
    assert again.kernel.get_params() == kernel.get_params()
    np.testing.assert_array_equal(again.predict(T), again.fit(X, X[:, 0]).predict(T))


def test_main_effects_are_learned_by_their_kernel():
    draw = np.random.default_rng(9)
    Z = draw.uniform(-2, 2, size=(300, 6))
    truth = np.sin(2 * Z[:, 0]) + np.abs(Z[:, 1])
    machine = VSVR(kernel="main_effects", fast=True).fit(Z[:150], truth[:150])
    assert machine.score(Z[150:], truth[150:]) > 0.9
