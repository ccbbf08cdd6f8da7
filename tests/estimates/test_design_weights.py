"""Finite populations, published replicate weights, calibrated errors: as survey software does."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command import covshift
from reference import calibrated_variance, design_variance, replicate_variance
from sklearn.linear_model import LogisticRegression

from covshift import DesignWeights, Margins, Target, estimate, evaluate
from covshift.exceptions import InputError
from covshift.numerics.influence import Design
from covshift.weights import Raking

pd = pytest.importorskip("pandas")
rng = np.random.default_rng(10)
N = 60
SEX, TOWN = rng.choice(["f", "m"], N), rng.choice(["u", "v"], N)
Y = rng.normal(size=N) + (SEX == "f")
W = rng.uniform(1, 3, N)
STRATUM, CLUSTER = np.repeat(["a", "b"], [24, 36]), np.arange(N) // 4
FRAME = pd.DataFrame({"sex": SEX, "town": TOWN, "y": Y, "w": W, "h": STRATUM, "c": CLUSTER})
SHARES = {"sex": {"f": 0.55, "m": 0.45}, "town": {"u": 0.5, "v": 0.5}}
MARGINS = Target(Margins(SHARES), finite_population=True)
SIZES = {"a": 10, "b": 30}  # clusters of the population, of which 6 and 9 are here


def ask(frame=FRAME, weights="w", **options):
    own = options.pop("own", ["sex", "town", "y", "w"])
    return estimate(frame[own], "y", MARGINS, sample_weight=weights, **options)


def left_out(k):
    """One cluster less, and the others of its stratum in its place."""
    h = STRATUM[4 * k]
    n = len(np.unique(CLUSTER[STRATUM == h]))
    return np.where(CLUSTER == k, 0.0, np.where(STRATUM == h, W * n / (n - 1), W))


REPLICATES = np.column_stack([left_out(k) for k in range(15)])
RSCALES = np.where(np.arange(15) < 6, 5 / 6, 8 / 9)


# Finite populations


@pytest.mark.parametrize("kind", ["counts", "shares"])
def test_a_finite_population_takes_its_share_of_every_stratum(kind):
    clusters = {"a": 6, "b": 9}
    fpc = {h: n if kind == "counts" else clusters[h] / n for h, n in SIZES.items()}
    frame = FRAME.assign(fpc=[fpc[h] for h in STRATUM])
    found = ask(
        frame,
        DesignWeights("w", fpc="fpc"),
        own=["sex", "town", "y", "w", "h", "c", "fpc"],
        strata="h",
        cluster="c",
        method="none",
    )
    psi = W * (Y - np.average(Y, weights=W)) / W.sum()
    parts = [
        (1 - clusters[h] / SIZES[h]) * design_variance(psi[i], STRATUM[i], CLUSTER[i])
        for h in "ab"
        for i in [STRATUM == h]
    ]
    assert found.standard_error == pytest.approx(np.sqrt(sum(parts)))


def test_a_sample_that_is_the_population_has_no_error():
    found = ask(weights=DesignWeights("w", fpc=np.full(N, N)), method="none")
    assert found.standard_error == 0


def test_a_stratum_of_one_unit_has_its_correction_too():
    design = Design.of(3, np.array(["a", "b", "b"]), None, np.array([2.0, 4.0, 4.0]))
    psi = np.array([[1.0], [2.0], [5.0]])
    one = (1 - 1 / 2) * (1 - 8 / 3) ** 2
    two = (1 - 2 / 4) * 2 * ((2 - 3.5) ** 2 + (5 - 3.5) ** 2)
    assert design.covariance(psi)[0, 0] == pytest.approx(one + two)


# Errors of calibrated weights


def test_design_weights_that_were_calibrated_have_the_errors_of_survey_software():
    found = ask(method="weights", weighter=Raking(), cluster=CLUSTER)
    columns = np.column_stack([SEX == "f", TOWN == "u"]).astype(float)
    expected = calibrated_variance(Y, columns, found.weights, W, CLUSTER)
    assert found.standard_error == pytest.approx(np.sqrt(expected))


@pytest.mark.thorough
def test_without_design_weights_the_error_is_that_of_a_biased_sample():
    """By equal weights the regression is not that of the population: the error is 40% too large."""
    own, errors = [], []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        F = rng.random((8000, 2)) < 0.5
        chance = 1 / (1 + np.exp(-2 * (F.sum(axis=1) - 1)))
        F = F[rng.random(8000) < chance / chance.max()][:300]
        y = 4 * F[:, 0] * F[:, 1] + rng.normal(size=300)
        X = pd.DataFrame({"sex": np.where(F[:, 0], "f", "m"), "town": np.where(F[:, 1], "u", "v")})
        even = Margins({"sex": {"f": 0.5, "m": 0.5}, "town": {"u": 0.5, "v": 0.5}})
        found = estimate(X, y, even, method="weights", weighter=Raking())
        own.append(found.value)
        errors.append(found.standard_error)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(own), rel=0.15)


# Replicate weights that were given


def test_replicates_of_a_plain_mean_are_a_loop():
    frame = FRAME.join(pd.DataFrame(REPLICATES, columns=[f"rep_{k}" for k in range(15)]))
    weights = DesignWeights("w", replicate_weights="rep_*", type="JKn", rscales=RSCALES)
    found = ask(frame, weights, own=[*frame.columns.drop(["h", "c"])], method="none")
    expected = replicate_variance(Y, W, REPLICATES, RSCALES)
    assert found.standard_error == pytest.approx(np.sqrt(expected))
    assert found.errors == "replicate weights"
    low, high = found.interval
    assert (high - low) / 2 / found.standard_error == pytest.approx(2.1448, abs=1e-4)  # t, 14 d.f.


@pytest.mark.parametrize(
    ("kind", "scale"),
    [("JK1", 14 / 15), ("JK2", 1), ("BRR", 1 / 15), ("bootstrap", 1 / 14), ("ACS", 4 / 15)],
)
def test_every_type_has_its_scale(kind, scale):
    weights = DesignWeights("w", replicate_weights=REPLICATES, type=kind)
    expected = replicate_variance(Y, W, REPLICATES, np.full(15, scale))
    assert ask(weights=weights, method="none").standard_error == pytest.approx(np.sqrt(expected))


def test_raking_is_done_again_in_every_replicate():
    weights = DesignWeights("w", replicate_weights=REPLICATES, type="JKn", rscales=RSCALES)
    found = ask(weights=weights, method="weights", weighter=Raking())
    again = found.replicate_weights
    for values, level, share in ((SEX, "f", 0.55), (TOWN, "u", 0.5)):
        np.testing.assert_allclose((values == level) @ again / again.sum(axis=0), share, atol=1e-6)
    thetas = Y @ again / again.sum(axis=0)
    assert found.standard_error == pytest.approx(np.sqrt(RSCALES @ (thetas - found.value) ** 2))


@pytest.mark.thorough
@pytest.mark.parametrize("weighter", ["cdf", "entropy"])
def test_target_rows_have_their_own_part_of_the_error(weighter):
    """The errors are near those of influence values, whose target part is known."""
    rng = np.random.default_rng(3)
    X, T = rng.normal(size=(200, 1)), rng.normal(0.3, 1, size=(60, 1))
    y = 3 * X[:, 0] + rng.normal(size=200)
    rep = np.column_stack([np.where(np.arange(200) % 40 == k, 0.0, 40 / 39) for k in range(40)])
    given = {"weighter": weighter, "method": "weights"}
    plain = estimate(X, y, T, sample_weight=np.ones(200), **given)
    weights = DesignWeights(np.ones(200), replicate_weights=rep, type="JK1")
    found = estimate(X, y, T, sample_weight=weights, **given)
    known = estimate(X, y, Target(T, finite_population=True), sample_weight=weights, **given)
    assert found.value == plain.value
    assert found.standard_error == pytest.approx(plain.standard_error, rel=0.25)
    assert known.standard_error < 0.8 * found.standard_error


# What cannot be


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"type": "JK1"}, "type is for replicate_weights"),
        ({"replicate_weights": REPLICATES}, "type=None must be"),
        ({"replicate_weights": REPLICATES, "type": "Fay"}, "needs scale"),
        ({"replicate_weights": REPLICATES, "type": "JKn"}, "needs rscales"),
        ({"replicate_weights": REPLICATES, "type": "JK1", "fpc": W}, "keep one of them"),
        ({"replicate_weights": REPLICATES[:, :1], "type": "JK1"}, "at least two replicates"),
        ({"replicate_weights": -REPLICATES, "type": "JK1"}, "zero or more"),
        ({"replicate_weights": "rep*", "type": "JK1"}, "has no such column"),
        ({"replicate_weights": "sex", "type": "JK1"}, "hold no numbers"),
        ({"replicate_weights": REPLICATES, "type": "JK1", "rscales": [1.0]}, "must be 15 numbers"),
        ({"fpc": np.arange(1.0, N + 1)}, "differs within a stratum"),
        ({"fpc": np.full(N, 20)}, "has 60 of them"),
    ],
)
def test_what_cannot_be_is_refused_in_words(given, words):
    with pytest.raises(InputError, match=words):
        ask(weights=DesignWeights("w", **given))


def test_one_kind_of_replicates_is_enough():
    weights = DesignWeights("w", replicate_weights=REPLICATES, type="JK1")
    with pytest.raises(InputError, match="keep one of them"):
        ask(weights=weights, replicates=50)
    with pytest.raises(InputError, match="keep one of them"):
        ask(weights=DesignWeights("w", fpc=np.full(N, 99)), replicates=50)


def test_evaluate_takes_no_replicates():
    weights = DesignWeights(W, replicate_weights=REPLICATES, type="JK1")
    X, labels = rng.normal(size=(N, 1)), (Y > 0).astype(int)
    model = LogisticRegression().fit(X, labels)
    with pytest.raises(InputError, match="are for estimate"):
        evaluate(model, X, labels, X, sample_weight=weights)


# The command line


def test_the_command_reads_designs_from_the_file(tmp_path):
    frame = FRAME.assign(fpc=[SIZES[h] for h in STRATUM])
    for k in range(15):
        frame[f"rep_{k}"] = REPLICATES[:, k]
    train = tmp_path / "train.csv"
    frame.to_csv(train, index=False)
    Margins(SHARES).to_json(tmp_path / "margins.json")
    base = ("estimate", train, tmp_path / "margins.json", "--outcome", "y", "--weight", "w")
    base = (*base, "--method", "none", "--json", "--drop", "c", "--quiet")
    done = covshift(*base, "--fpc", "fpc", "--strata", "h", "--cluster", "c")
    found = json.loads(done.out)["estimates"][0]["standard_error"]
    expected = ask(
        weights=DesignWeights("w", fpc=frame.fpc.to_numpy()),
        strata=STRATUM,
        cluster=CLUSTER,
        method="none",
    )
    assert found == pytest.approx(expected.standard_error)
    given = ("--replicate-weights", "rep_*", "--replicate-type", "JKn")
    scales = ",".join(map(repr, RSCALES.tolist()))
    done = covshift(*base, *given, "--replicate-rscales", scales)
    assert done.code == 0, done.err
    found = json.loads(done.out)["estimates"][0]["standard_error"]
    expected = replicate_variance(Y, W, REPLICATES, RSCALES)
    assert found == pytest.approx(np.sqrt(expected))
    for more, words in (
        (("--replicate-type", "JK1"), "belongs to --replicate-weights"),
        ((*given,), "needs --replicate-rscales"),
        ((*given, "--replicates", "20"), "keep one of them"),
    ):
        done = covshift(*base, *more)
        assert done.code == 2
        assert words in done.err
