"""The machines and the CDF weights on torch tensors: the CPU's result, on the tensor's device.

These tests run on CPU tensors; on a GPU the same code runs with half-precision products, whose
accuracy benchmarks/gpu.py measures.
"""

from __future__ import annotations

import numpy as np
import pytest
from machines import with_kernel

import covshift
from covshift import VSVC, VSVR
from covshift.corrections import Additive, Importance, Multiplicative, Pairwise, Sliced
from covshift.exceptions import WeightWarning
from covshift.numerics.device.kernels import features
from covshift.numerics.kernels import KernelSum
from covshift.weights import CDFWeights

rng = np.random.default_rng(0)
N, M, n = 1500, 100, 3
X = rng.normal(size=(N, n))
T = rng.normal(0.4, 1.0, size=(M, n))
y = np.sin(X[:, 0]) + X[:, 1] + rng.normal(size=N)
labels = (y > 0).astype(int) + (y > 1)
w = rng.integers(0, 3, N).astype(float)

CORRECTIONS = [
    "none",
    "additive",
    "blended",
    Multiplicative(),
    Pairwise(symmetric=True, normalize=True),
    Sliced(5, random_state=0),
    Additive(phi="anderson-darling"),
    Importance(np.linspace(0, 2, N)),
]


def machine(kind=VSVR, **parameters):
    """One kernel by name, so that the sums alone are compared, and quickly."""
    fixed = {"kernel": "rbf", "width": "scale", "coordinates": "none", "correction": "blended"}
    fixed |= {"n_components": 50, "random_state": 0, "solver": "primal"}
    return kind(**with_kernel(fixed | parameters))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("correction", CORRECTIONS, ids=str)
def test_tensors_give_the_fit_of_arrays(torch, correction, dtype):
    given = [array.astype(dtype) for array in (X, T)]
    one = machine(correction=correction).fit(given[0], y, X_target=given[1])
    tensors = [torch.asarray(array) for array in given]
    two = machine(correction=correction).fit(tensors[0], torch.asarray(y), X_target=tensors[1])
    assert two.reg_ == pytest.approx(one.reg_)
    assert two.width_ == pytest.approx(one.width_, rel=1e-11)
    for name in ("coef_", "intercept_", "landmarks_"):
        assert getattr(two, name).dtype == tensors[0].dtype
        assert getattr(two, name).device == tensors[0].device
    np.testing.assert_array_equal(two.landmarks_.numpy().astype(float), one.landmarks_)
    assert two.target_coverage_ == pytest.approx(one.target_coverage_)
    found = two.predict(tensors[1])
    assert found.dtype == tensors[1].dtype
    atol = 1e-9 if dtype == "float64" else 2e-4
    np.testing.assert_allclose(found.numpy(), one.predict(given[1]), atol=atol)
    np.testing.assert_allclose(two.predict(given[1]), one.predict(given[1]), atol=atol)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear"])
def test_classes_weights_and_kernels(torch, kernel):
    one = machine(VSVC, kernel=kernel, width="median").fit(X, labels, X_target=T, sample_weight=w)
    tensors = [torch.asarray(array) for array in (X, labels, T, w)]
    two = machine(VSVC, kernel=kernel, width="median").fit(
        tensors[0], tensors[1], X_target=tensors[2], sample_weight=tensors[3]
    )
    found = two.predict_proba(tensors[2])
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(found.numpy(), one.predict_proba(T), atol=1e-9)
    np.testing.assert_array_equal(two.predict(tensors[2]), one.predict(T))
    np.testing.assert_allclose(
        two.decision_function(tensors[2]).numpy(), one.decision_function(T), atol=1e-9
    )


FOUND = {"width": "cv", "coordinates": "standard", "fast": True}


@pytest.mark.parametrize("kernel", ["cv", ["main_effects", "rbf"], "rbf"])
@pytest.mark.parametrize("kind", [VSVC, VSVR])
def test_tensors_find_the_kernel_that_arrays_find(torch, kind, kernel):
    outcome = labels if kind is VSVC else y
    one = machine(kind, kernel=kernel, **FOUND).fit(X, outcome, X_target=T)
    tensors = [torch.asarray(array) for array in (X, outcome, T)]
    two = machine(kind, kernel=kernel, **FOUND).fit(tensors[0], tensors[1], X_target=tensors[2])
    np.testing.assert_allclose(two.width_, one.width_, rtol=1e-9)
    predict = "predict_proba" if kind is VSVC else "predict"
    found = getattr(two, predict)(tensors[2])
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(found.numpy(), getattr(one, predict)(T), atol=1e-7)


def test_a_found_kernel_survives_single_precision_on_a_gpu(torch):
    """Seen on a GPU alone: a hundred thousand rows in single precision gave predictions of 80."""
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    draw = torch.Generator(device="cuda").manual_seed(0)

    def rows(count):
        Z = torch.randn(count, 10, generator=draw, device="cuda")
        return Z, torch.sin(2 * Z[:, 0]) + Z[:, 1] * Z[:, 2]

    (many, f), (few, truth) = rows(100_000), rows(1000)
    outcome = f + torch.randn(100_000, generator=draw, device="cuda")
    found = VSVR(n_components=1000, random_state=0).fit(many, outcome, X_target=few)
    assert found.coef_.dtype == torch.float32
    assert float(((found.predict(few) - truth) ** 2).mean()) < 0.05


def test_blocks_of_rows_are_added_in_double_precision(torch, monkeypatch):
    from covshift.numerics.device import kernels

    X32, T32 = torch.asarray(X.astype("float32")), torch.asarray(T.astype("float32"))
    one = machine(reg=1.0).fit(X32, y, X_target=T32).predict(T32)
    monkeypatch.setitem(kernels._BLOCK_BYTES, "cpu", 256 * 4 * 51)
    two = machine(reg=1.0).fit(X32, y, X_target=T32).predict(T32)
    np.testing.assert_allclose(two.numpy(), one.numpy(), atol=1e-4)


def test_constant_columns_of_a_tensor_are_left_out(torch):
    wide = [torch.asarray(np.insert(array, 1, 5.0, axis=1)) for array in (X, T)]
    with pytest.warns(UserWarning, match="constant"):
        two = machine(reg=1.0).fit(wide[0], y, X_target=wide[1])
    one = machine(reg=1.0).fit(X, y, X_target=T)
    np.testing.assert_allclose(two.predict(wide[1]).numpy(), one.predict(T), atol=1e-9)


def test_what_runs_on_the_host_alone_still_accepts_tensors(torch):
    tensors = [torch.asarray(array) for array in (X[:200], y[:200], T)]
    for parameters in (
        {"solver": "dual"},
        {"kernel": "poly"},
        {"width": "cv"},
        {"coordinates": "cdf"},
    ):
        two = machine(**parameters).fit(tensors[0], tensors[1], X_target=tensors[2])
        one = machine(**parameters).fit(X[:200], y[:200], X_target=T)
        np.testing.assert_allclose(np.asarray(two.predict(tensors[2])), one.predict(T), atol=1e-8)


@pytest.mark.parametrize("phi", [None, "anderson-darling"])
@pytest.mark.parametrize("reg", [None, 0.3])
def test_weights_of_tensors_are_those_of_arrays(torch, reg, phi):
    rows, target = np.round(X, 2), np.round(T, 2)  # with ties
    weight = rng.integers(1, 3, M).astype(float)
    one = CDFWeights(Additive(phi=phi), reg=reg, solver="thresholds").fit(
        rows, X_target=target, target_weight=weight
    )
    tensors = [torch.asarray(array) for array in (rows, target, weight)]
    two = CDFWeights(Additive(phi=phi), reg=reg).fit(
        tensors[0], X_target=tensors[1], target_weight=tensors[2]
    )
    assert isinstance(two.weights_, torch.Tensor)
    # The search for a penalty ends within a tolerance of it.
    atol = 1e-6 if reg else 1e-3
    assert two.reg_ == pytest.approx(one.reg_, rel=atol)
    assert two.effective_sample_size_ == pytest.approx(one.effective_sample_size_, rel=atol)
    assert two.noise_ == pytest.approx(one.noise_)
    np.testing.assert_allclose(two.weights_.numpy(), one.weights_, atol=atol)
    np.testing.assert_allclose(
        two.predict_weights(tensors[1]).numpy(), one.predict_weights(target), atol=atol
    )
    np.testing.assert_allclose(two.predict_weights(target), one.predict_weights(target), atol=atol)


def test_one_column_beyond_the_training_values_is_found_on_a_device(torch):
    generator = np.random.default_rng(4)
    rows, target = generator.uniform(size=(400, 20)), generator.uniform(size=(400, 20))
    target[:, 3] /= 0.61
    with pytest.warns(WeightWarning, match="of the target lies above .* of column 3"):
        two = CDFWeights(allow_no_overlap=True).fit(
            torch.asarray(rows), X_target=torch.asarray(target)
        )
    with pytest.warns(WeightWarning):
        one = CDFWeights(allow_no_overlap=True).fit(rows, X_target=target)
    assert not two.overlap_
    assert [(p.column, p.side, p.value) for p in two.uncovered_] == [
        (p.column, p.side, p.value) for p in one.uncovered_
    ]
    assert two.uncovered_[0].share == pytest.approx(one.uncovered_[0].share)


def test_many_thresholds_are_searched_on_a_coarse_grid(torch):
    generator = np.random.default_rng(3)
    rows, target = generator.normal(size=(6000, 1)), generator.normal(0.3, 1.0, size=(5000, 1))
    one = CDFWeights(solver="thresholds").fit(rows, X_target=target)
    two = CDFWeights().fit(torch.asarray(rows), X_target=torch.asarray(target))
    np.testing.assert_allclose(two.weights_.numpy(), one.weights_, atol=1e-3)
    single = CDFWeights().fit(torch.asarray(rows).float(), X_target=torch.asarray(target).float())
    np.testing.assert_allclose(single.weights_.numpy(), one.weights_, atol=2e-3)
    np.testing.assert_allclose(single.predict_weights(rows), one.weights_, atol=2e-3)


@pytest.mark.parametrize("correction", ["additive", "blended", "multiplicative", "none"])
@pytest.mark.parametrize("reg", [1e-4, "cv"])
def test_single_precision_is_as_good_as_double(torch, correction, reg):
    """Rows of single precision, computed with in double: what the host makes of the same rows."""
    single = [array.astype("float32") for array in (X, T)]
    one = machine(correction=correction, reg=reg)
    one.fit(single[0].astype(float), y, X_target=single[1].astype(float))
    two = machine(correction=correction, reg=reg)
    two.fit(torch.asarray(single[0]), y, X_target=torch.asarray(single[1]))
    assert two.reg_ == pytest.approx(one.reg_)
    np.testing.assert_allclose(two.predict(single[1]), one.predict(single[1]), atol=2e-6)


def test_what_was_fitted_on_a_device_is_loaded_on_the_host(torch, tmp_path):
    rows, target = torch.asarray(X), torch.asarray(T)
    fitted = machine().fit(rows, torch.asarray(y), X_target=target)
    weighter = CDFWeights(solver="thresholds").fit(rows, X_target=target)
    for model, method in ((fitted, "predict"), (weighter, "predict_weights")):
        covshift.save(model, tmp_path / "m.covshift")
        again = covshift.load(tmp_path / "m.covshift")
        found, expected = (getattr(each, method)(T) for each in (again, model))
        np.testing.assert_allclose(found, np.asarray(expected), rtol=1e-9)
    assert isinstance(again.weights_, np.ndarray)
    np.testing.assert_array_equal(again.weights_, weighter.weights_.numpy())


# features of several columns


HOT = np.column_stack([X[:60, 0], np.eye(4)[rng.choice(4, 60)], X[:60, 1]])
GROUPS = np.array([0, 1, 1, 1, 1, 2])


@pytest.mark.parametrize("part", ["linear", "rbf", "laplacian", "main_effects"])
def test_a_sum_of_kernels_counts_a_category_once_on_tensors_too(torch, part):
    kernel = KernelSum(np.full(6, 0.3), ratio=0.8, groups=GROUPS, **{part: 2.0})
    found = features(kernel, HOT[:9], torch.asarray(HOT[:1]))(torch.asarray(HOT))
    np.testing.assert_allclose(found.numpy(), kernel(HOT, HOT[:9]), atol=1e-12)


@pytest.mark.parametrize(
    "correction",
    [Additive(), Additive(symmetric=True, phi="anderson-darling"), Pairwise()],
    ids=str,
)
def test_the_target_side_of_v_knows_features_on_tensors_too(torch, correction):
    known, A = correction.of_features(GROUPS), X[:60]
    share = np.full(40, 1 / 40)
    arrays = (HOT, A, np.ones(60), HOT[20:], share)
    found = []
    for rows, columns, w, target, shares in (arrays, tuple(map(torch.asarray, arrays))):
        sums = known.target_sums(target, shares, rows)
        found.append(np.asarray(sums.gram(sums.sums(rows, columns, w, slice(None)))))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-10)
    np.testing.assert_allclose(found[0], A.T @ known.operator(HOT, HOT[20:]).dense() @ A)
