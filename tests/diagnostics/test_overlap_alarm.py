"""One alarm for all: a target that lies apart from the training rows is told of everywhere."""

import warnings
from contextlib import nullcontext

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

import covshift
from covshift import weights
from covshift.distributed import fit_blocks
from covshift.exceptions import NoOverlapError, OverlapWarning
from covshift.numerics.support import parts_apart

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 2))
y, labels = X[:, 0], (X[:, 0] > 0).astype(int)
APART = rng.normal((100.0, 0.0), 1.0, size=(80, 2))
NEAR = rng.normal(0.3, 1.0, size=(80, 2))

QUICK = {"kernel": covshift.Kernel("rbf", width="scale"), "reg": 1.0}
CORRECTED = {
    **{
        f"VSVR {name}": lambda T, name=name: covshift.VSVR(name, **QUICK).fit(X, y, X_target=T)
        for name in (
            "additive",
            "blended",
            "multiplicative",
            "pairwise",
            "sliced",
            "gaussian",
            "auto",
        )
    },
    "VSVC": lambda T: covshift.VSVC("blended", **QUICK).fit(X, labels, X_target=T),
    "VSVR kmm": lambda T: covshift.VSVR("kmm", **QUICK).fit(X, y, X_target=T),
    "on landmarks": lambda T: covshift.VSVR("blended", solver="primal", **QUICK).fit(
        X, y, X_target=T
    ),
    "partial_fit": lambda T: covshift.VSVR("blended", **QUICK).partial_fit(X, y, X_target=T),
    "in blocks": lambda T: fit_blocks(covshift.VSVR("blended", **QUICK), [(X, y)], T),
    "VBoostRegressor": lambda T: covshift.VBoostRegressor(n_estimators=2).fit(X, y, X_target=T),
    "VBoostClassifier": lambda T: covshift.VBoostClassifier(n_estimators=2).fit(
        X, labels, X_target=T
    ),
    "Reweighted": lambda T: covshift.Reweighted(Ridge(), weighter="kmm").fit(X, y, X_target=T),
}
CONFORMAL = {
    "ConformalRegressor": lambda T: covshift.ConformalRegressor(Ridge()).fit(X, y, X_target=T),
    "ConformalClassifier": lambda T: covshift.ConformalClassifier(LogisticRegression()).fit(
        X, labels, X_target=T
    ),
}
WARNED = {
    "KDE": weights.KDE(),
    "KLIEP": weights.KLIEP(random_state=0),  # folds whose centres reach some points by 1e-310
    "KMM": weights.KMM(),
    "RULSIF": weights.RULSIF(random_state=0),
    "ULSIF": weights.ULSIF(random_state=0),
    "Discriminative": weights.Discriminative(random_state=0),
    "EnergyWeights": weights.EnergyWeights(),
    "GaussianRatio": weights.GaussianRatio(),
    "PostStratification": weights.PostStratification(),
    "CDFWeights": weights.CDFWeights(allow_no_overlap=True),
}
REFUSED = {
    "CDFWeights": weights.CDFWeights(),
    "EntropyBalancing": weights.EntropyBalancing(),
    "NearestNeighbors": weights.NearestNeighbors(),
}


@pytest.mark.parametrize("name", CORRECTED)
def test_every_corrected_estimator_raises_the_alarm(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", OverlapWarning)
        with pytest.raises(OverlapWarning, match=r"above 1\.\d+, the largest training value"):
            CORRECTED[name](APART)


@pytest.mark.parametrize("name", WARNED)
@pytest.mark.filterwarnings("ignore::covshift.exceptions.WeightWarning")
def test_every_weighter_raises_the_alarm(name):
    with pytest.warns(OverlapWarning, match=r"100% of the target lies above 1\.8"):
        WARNED[name].fit(X, X_target=APART)


@pytest.mark.parametrize("name", REFUSED)
def test_weighters_without_weights_say_that_there_is_no_overlap(name):
    with pytest.raises(NoOverlapError, match="overlap"):
        REFUSED[name].fit(X, X_target=APART)


@pytest.mark.parametrize("name", CONFORMAL)
def test_intervals_are_refused_where_no_row_of_the_target_is_covered(name):
    with pytest.raises(NoOverlapError, match=r"above 1\.\d+, the largest training value"):
        CONFORMAL[name](APART)


@pytest.mark.parametrize("name", [*WARNED, *CORRECTED, *CONFORMAL])
def test_there_is_no_alarm_of_a_shift_that_can_be_corrected(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", OverlapWarning)
        if name in WARNED:
            WARNED[name].fit(X, X_target=NEAR)
        else:
            {**CORRECTED, **CONFORMAL}[name](NEAR)


def test_nothing_is_said_where_nothing_is_corrected_or_overlap_is_not_needed():
    covshift.VSVR("none", **QUICK).fit(X, y, X_target=APART)
    covshift.RobustBiasAware().fit(X, labels, X_target=APART)


def test_the_alarm_names_columns():
    import pandas as pd

    frame, target = (pd.DataFrame(rows, columns=["age", "income"]) for rows in (X, APART))
    with pytest.warns(OverlapWarning, match="largest training value of 'age'. VSVR cannot"):
        covshift.VSVR("blended", **QUICK).fit(frame, y, X_target=target)


def apart(X, T):
    return bool(parts_apart(X, T, np.full(len(T), 1 / len(T)), len(T), len(X)))


def normal(rows, n, mean=0.0):
    return lambda draw: draw.normal(mean, 1.0, size=(rows, n))


def counts(rows, n, mean):
    return lambda draw: draw.poisson(mean, size=(rows, n)).astype(float)


FALSE_ALARMS = {  # training rows, target rows, alarms among 200 pairs of samples at most
    "no shift": (normal(50, 2), normal(50, 2), 2),
    "no shift, 5 rows": (normal(5, 2), normal(2000, 2), 10),  # a test at 1 %
    "no shift, 50 features": (normal(50, 50), normal(50, 50), 2),
    "one standard deviation": (normal(300, 5), normal(300, 5, 1.0), 10),
    "one standard deviation, 50 rows": (normal(50, 2), normal(500, 2, 1.0), 16),
    "many rows": (normal(20_000, 1), normal(50, 1, 1.0), 0),
    "counts": (counts(50, 3, 3.0), counts(300, 3, 5.0), 12),
    "rare ones": (counts(50, 10, 0.02), counts(300, 10, 0.02), 0),
    "heavy tails": (
        lambda d: d.standard_cauchy((300, 3)),
        lambda d: d.standard_cauchy((300, 3)),
        0,
    ),
}


@pytest.mark.part(20)
@pytest.mark.parametrize("name", FALSE_ALARMS)
def test_false_alarms_are_rare(name):
    train, target, most = FALSE_ALARMS[name]
    draw = np.random.default_rng(1)
    assert sum(apart(train(draw), target(draw)) for _ in range(200)) <= most


@pytest.mark.parametrize(("N", "M"), [(3, 50), (50, 50), (300, 5), (20_000, 50)])
def test_a_target_at_a_hundred_standard_deviations_is_always_told_of(N, M):
    draw = np.random.default_rng(2)
    pairs = [(draw.normal(size=(N, 2)), draw.normal(100, 1, size=(M, 2))) for _ in range(20)]
    assert all(apart(*pair) for pair in pairs)


def test_half_of_the_target_is_enough():
    T = np.vstack([NEAR, APART])
    assert apart(X, T)
    assert apart(-X, -T)
    assert apart(1e200 * X, 1e200 * T)


@pytest.mark.filterwarnings("ignore::covshift.exceptions.WeightWarning")
@pytest.mark.parametrize(
    ("shift", "refused"), [(1.0, False), (1.6, False), (2.0, True), (2.4, True)]
)
def test_weights_are_told_of_where_an_answer_is_refused(shift, refused):
    """Also between a tenth and a quarter of the target outside, where weights were silent."""
    rng = np.random.default_rng(1)
    sample, target = rng.normal(size=(400, 1)), rng.normal(shift, 1.0, size=(400, 1))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        weights.GaussianRatio().fit(sample, X_target=target)
    assert any(issubclass(one.category, OverlapWarning) for one in told) == refused
    outside = np.mean(target > sample.max()) - 10 / 400
    assert outside < 0.1 or 0.1 < outside < 0.25
    with pytest.raises(NoOverlapError) if refused else nullcontext():
        covshift.estimate(sample, sample[:, 0], target, outcome_model=Ridge())
