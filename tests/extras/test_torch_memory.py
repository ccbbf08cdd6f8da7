"""A device that runs out of memory: the message says what to do, and nothing is half fitted."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from covshift import VSVR, Kernel
from covshift.machine.primal import Primal
from covshift.numerics.device.kernels import DeviceExpansion, enough_memory
from covshift.weights import CDFWeights
from covshift.weights.cdf.thresholds import ThresholdMatching

torch = pytest.importorskip("torch")

rng = np.random.default_rng(0)
X, T = torch.asarray(rng.normal(size=(200, 2))), torch.asarray(rng.normal(0.3, 1, size=(50, 2)))
y = X[:, 0] + torch.asarray(rng.normal(size=200))


def full(*_, **__):
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has ...")


def machine():
    fixed = {"kernel": Kernel("rbf", width=1.0, coordinates="none"), "reg": 1.0}
    return VSVR("blended", solver="primal", n_components=20, random_state=0, **fixed)


def test_a_fit_that_does_not_fit_leaves_nothing(monkeypatch):
    model = machine().fit(X, y, X_target=T)
    with monkeypatch.context() as patch:
        patch.setattr(Primal, "partial", full)
        with pytest.raises(MemoryError, match=r"nothing is fitted.*n_components.*NumPy") as found:
            model.fit(X, y, X_target=T)
    assert "CUDA out of memory" in str(found.value)
    with pytest.raises(NotFittedError):
        model.predict(X)
    expected = machine().fit(X, y, X_target=T).predict(X)
    np.testing.assert_array_equal(model.fit(X, y, X_target=T).predict(X), expected)


def test_predictions_that_do_not_fit_leave_the_machine_as_it_was(monkeypatch):
    model = machine().fit(X, y, X_target=T)
    before = model.predict(X)
    with monkeypatch.context() as patch:
        patch.setattr(DeviceExpansion, "__call__", full)
        with pytest.raises(MemoryError, match="Predict fewer rows at a time"):
            model.predict(X)
    np.testing.assert_array_equal(model.predict(X), before)


def test_weights_that_do_not_fit_leave_nothing(monkeypatch):
    weighter = CDFWeights(solver="thresholds", reg=1.0).fit(X, X_target=T)
    before = weighter.predict_weights(T)
    with monkeypatch.context() as patch:
        patch.setattr(ThresholdMatching, "__init__", full)
        with pytest.raises(MemoryError, match=r"nothing is fitted.*float32"):
            weighter.fit(X[:100], X_target=T)
    with pytest.raises(NotFittedError):
        weighter.predict_weights(T)
    np.testing.assert_array_equal(weighter.fit(X, X_target=T).predict_weights(T), before)


def test_other_errors_stay_what_they_are():
    with pytest.raises(RuntimeError, match="something else"), enough_memory("work", "Do that"):
        raise RuntimeError("something else")
