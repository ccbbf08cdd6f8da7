"""The files of ``covshift weigh``: their columns, replicate weights and codebook."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from command import covshift
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from covshift import Margins, estimate
from covshift.cli import weigh_fit
from covshift.exceptions import NoOverlapError
from covshift.numerics.influence import Design
from covshift.numerics.resampling import bootstrap_draws, jackknife_draws, replicate
from covshift.weights import EntropyBalancing, Raking

rng = np.random.default_rng(18)
N, M = 60, 50
X, T = rng.normal(size=(N, 2)).round(3), rng.normal(0.4, 1, size=(M, 2)).round(3)
Y = (X[:, 0] + rng.normal(size=N)).round(3)
D = rng.uniform(0.5, 3, N).round(2)
TIMES = rng.integers(1, 4, N)
STRATUM, CLUSTER = np.array(["n", "s", "w"])[np.arange(N) % 3], np.arange(N) // 6
SEX, SEX_T = np.where(X[:, 1] > 0, "f", "m"), {"f": 0.6, "m": 0.4}
TRAIN = {"a": X[:, 0], "b": X[:, 1], "y": Y, "d": D, "n": TIMES, "h": STRATUM, "c": CLUSTER}
ASKED = ("--label", "y", "--method", "entropy")
PLAIN = ("--drop", "d", "--drop", "n", "--drop", "h", "--drop", "c")


def write(path, columns):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


@pytest.fixture(autouse=True)
def no_diagnosis(monkeypatch):
    """The verdict is another test's."""
    found = type("Diagnosis", (), {"verdict": "moderate"})
    monkeypatch.setattr(weigh_fit, "diagnosis_of", lambda *_: found)


@pytest.fixture
def files(tmp_path):
    write(tmp_path / "train.csv", TRAIN)
    write(tmp_path / "target.csv", {"a": T[:, 0], "b": T[:, 1]})
    columns = {"a": {(None, -0.5): 0.2, (-0.5, 0.5): 0.4, (0.5, None): 0.4}, "sex": SEX_T}
    Margins(columns, size=5000, source="office").to_json(tmp_path / "margins.json")
    write(tmp_path / "known.csv", {"a": X[:, 0], "sex": SEX, "y": Y, "d": D, "n": TIMES})
    return tmp_path


def weigh(files, *options, train="train.csv", target="target.csv", name="w.csv"):
    """Run the command; return the columns of its file, and its codebook."""
    out = files / name
    done = covshift("weigh", files / train, files / target, *options, "-o", out, "--force")
    assert done.code == 0, done.err
    book = json.loads(out.with_suffix(".codebook.json").read_text())
    return *read(out), book, done


def read(path):
    with path.open() as file:
        names, *lines = csv.reader(file)
    table = dict(zip(names, zip(*lines, strict=True), strict=True))
    ids = table.pop(names[0])
    return ids, {name: np.array(values, dtype=float) for name, values in table.items()}


def replicates(columns):
    return np.column_stack([v for name, v in columns.items() if name.startswith("replicate_")])


def standardised(weight=None):
    scaler = StandardScaler().fit(X, sample_weight=weight)
    return scaler.transform(X), scaler.transform(T)


def variance_of_the_mean(columns, book, frequency=1):
    theta = np.average(Y, weights=columns["weight"] * frequency)
    again = replicates(columns) * np.reshape(frequency, (-1, 1))
    thetas = Y @ again / again.sum(axis=0)
    return book["replicates"]["scale"] * ((thetas - theta) ** 2).sum()


# Columns


def test_columns_multiply_to_the_weights_of_the_library(files):
    _, columns, book, _ = weigh(files, *ASKED, "--weight", "d", *PLAIN[2:])
    assert list(columns) == ["weight", "design_weight", "factor"]
    np.testing.assert_array_equal(columns["weight"], columns["design_weight"] * columns["factor"])
    np.testing.assert_allclose(columns["design_weight"], D / D.mean())
    Z, there = standardised(D)
    factor = EntropyBalancing().fit(Z, X_target=there, sample_weight=D).weights_
    final = D * factor / (D * factor).mean()
    np.testing.assert_allclose(columns["weight"], final, rtol=1e-7)
    assert np.average(columns["factor"], weights=D) == pytest.approx(1)
    assert book["sample"]["weight"] == "d"
    assert book["replicates"] is None


def test_without_design_weights_these_are_one(files):
    _, columns, book, _ = weigh(files, *ASKED, *PLAIN)
    assert (columns["design_weight"] == 1).all()
    np.testing.assert_array_equal(columns["weight"], columns["factor"])
    meaning = {part["name"]: part["meaning"] for part in book["columns"]}
    assert "1 in every row" in meaning["design_weight"]


@pytest.mark.parametrize("frequency", [False, True])
def test_weights_sum_to_the_population_that_is_named(files, frequency):
    more = ["--frequency", "n"] if frequency else ["--drop", "n"]
    given = (*ASKED, "--weight", "d", *PLAIN[4:], *more, "--replicates", "2")
    _, columns, book, done = weigh(files, *given, "--sum-to", "12e3")
    _, plain, _, _ = weigh(files, *given)
    times = TIMES if frequency else np.ones(N)
    for name in ("weight", "design_weight", "replicate_001", "replicate_002"):
        assert times @ columns[name] == pytest.approx(12_000)
        assert times @ plain[name] == pytest.approx(times.sum())
    np.testing.assert_array_equal(columns["weight"], columns["design_weight"] * columns["factor"])
    np.testing.assert_array_equal(columns["factor"], plain["factor"])
    assert "sum 12000" in done.out
    assert "sums to 12000" in book["columns"][1]["scale"]


@pytest.mark.parametrize("target", ["target.csv", "margins.json"])
def test_rows_of_weight_zero_have_none_and_are_drawn_never(files, target):
    zero = np.arange(N) % 4 == 0
    known = {"sex": SEX} if target == "margins.json" else {"b": X[:, 1]}
    train = {"id": np.arange(N), "a": X[:, 0], **known, "d": np.where(zero, 0, D)}
    write(files / "some.csv", train)
    write(files / "kept.csv", {name: np.asarray(v)[~zero] for name, v in train.items()})
    given = ("--method", "entropy", "--weight", "d", "--id", "id", "--replicates", "3")
    ids, columns, _, _ = weigh(files, *given, train="some.csv", target=target)
    _, kept, _, _ = weigh(files, *given, train="kept.csv", target=target)
    assert ids == tuple(map(str, range(N)))
    for name, values in columns.items():
        assert (values[zero] == 0).all()
        np.testing.assert_allclose(values[~zero], kept[name], rtol=1e-6)


def test_an_id_keeps_its_name_unless_a_column_has_it(files):
    write(files / "named.csv", {"factor": np.arange(N), "a": X[:, 0], "b": X[:, 1]})
    given = ("--method", "entropy", "--id", "factor")
    weigh(files, *given, train="named.csv")
    assert (files / "w.csv").read_text().startswith("id,weight,design_weight,factor\n0,")


# Replicates of target rows


def test_replicates_are_those_of_the_bootstrap_of_estimate(files):
    """The same seed draws the same samples, so that they agree far better than in their spread."""
    given = (*ASKED, "--weight", "d", "--drop", "n", "--strata", "h", "--cluster", "c")
    _, columns, book, done = weigh(files, *given, "--replicates", "25", "--seed", "5")
    found = estimate(
        X,
        Y,
        T,
        method="weights",
        weighter="entropy",
        outcome_model=Ridge(),
        sample_weight=D,
        strata=STRATUM,
        cluster=CLUSTER,
        replicates=25,
        random_state=5,
    )
    np.testing.assert_allclose(replicates(columns), found.replicate_weights, rtol=1e-5, atol=1e-8)
    error = np.sqrt(variance_of_the_mean(columns, book))
    assert error == pytest.approx(found.standard_error, rel=1e-4)
    facts = book["replicates"]
    assert (facts["scale"], facts["rscales"], facts["seed"]) == (1 / 25, 1, 5)
    assert (facts["strata"], facts["cluster"], facts["target_drawn"]) == ("h", "c", True)
    assert "25 bootstrap replicates" in done.out
    assert 'type = "bootstrap", scale = 0.04, rscales = rep(1, 25), ' in done.out
    assert "vce(bootstrap) bsrweight(replicate_*) dof(24) mse" in done.out
    assert (facts["type"], facts["degrees_of_freedom"]) == ("bootstrap", 24)


def test_a_target_that_is_the_population_is_not_drawn(files):
    given = (*ASKED, *PLAIN, "--replicates", "40")
    _, columns, book, _ = weigh(files, *given, "--finite-population")
    means = X.T @ replicates(columns) / N
    np.testing.assert_allclose(means, np.tile(T.mean(axis=0)[:, None], 40), atol=1e-5)
    assert not book["replicates"]["target_drawn"]
    _, drawn, _, _ = weigh(files, *given)
    spread = (X.T @ replicates(drawn) / N).std(axis=1)
    np.testing.assert_allclose(spread, T.std(axis=0, ddof=1) / np.sqrt(M), rtol=0.35)


def test_the_jackknife_of_single_rows_is_a_loop(files):
    given = (*ASKED, "--weight", "d", *PLAIN[2:], "--finite-population")
    asked = ("--replicates", str(N), "--replicate-method", "jackknife")
    _, columns, book, _ = weigh(files, *given, *asked)
    Z, there = standardised(D)
    thetas = []
    for out in range(N):
        d = np.where(np.arange(N) == out, 0, D)
        w = d * EntropyBalancing().fit(Z, X_target=there, sample_weight=d).weights_
        thetas.append(np.average(Y, weights=w))
    theta = np.average(Y, weights=columns["weight"])
    expected = (N - 1) / N * ((np.array(thetas) - theta) ** 2).sum()
    assert variance_of_the_mean(columns, book) == pytest.approx(expected, rel=1e-4)
    assert book["replicates"]["scale"] == pytest.approx((N - 1) / N)


def test_weights_without_an_equation_have_a_jackknife(files):
    """A bootstrap of CDF weights sees half of their error."""
    given = ("--label", "y", "--method", "cdf", *PLAIN)
    _, columns, book, done = weigh(files, *given, "--replicates", "6")
    facts = book["replicates"]
    assert (facts["method"], facts["type"], facts["degrees_of_freedom"]) == ("jackknife", "JK1", 5)
    left_out = (replicates(columns) == 0) & (columns["weight"] > 0)[:, None]
    assert (left_out.sum(axis=0) >= 9).all()  # ten rows, of which some have no weight at all
    assert facts["r"] in done.out
    assert 'type = "JK1", scale = 0.8333333333, rscales = rep(1, 6), ' in facts["r"]
    stata = "vce(jackknife) jkrweight(replicate_*, multiplier(0.8333333333)) dof(5) mse"
    assert facts["stata"] == f"svyset [pweight=weight], {stata}"
    assert facts["stata"] in done.out
    out = files / "no.csv"
    base = ("weigh", files / "train.csv", files / "target.csv", *given, "--replicates", "6")
    refused = covshift(*base, "--replicate-method", "bootstrap", "-o", out)
    assert refused.code == 2
    assert "would understate the errors of cdf weights" in refused.err
    assert not out.exists()


def test_strata_of_which_each_unit_is_left_out_have_their_own_scales(files):
    given = (*ASKED, "--weight", "d", "--drop", "n", "--strata", "h", "--cluster", "c")
    more = ("--replicate-method", "jackknife", "--replicates", "30", "--finite-population")
    _, columns, book, _ = weigh(files, *given, *more)
    facts = book["replicates"]
    assert (facts["type"], facts["number"], facts["degrees_of_freedom"]) == ("JKn", 30, 27)
    assert facts["scale"] == 1
    assert facts["rscales"] == pytest.approx([0.9] * 30)
    assert "rscales = rep(0.9, 30)" in facts["r"]
    assert "multiplier(0.9)" in facts["stata"]
    again = replicates(columns)
    assert (again == 0).sum(axis=0).tolist() == [2] * 30  # of each cluster two rows in a stratum
    Z, there = standardised(D)
    out = (STRATUM == "n") & (CLUSTER == 0)
    d = np.where(out, 0, np.where(STRATUM == "n", D * 10 / 9, D))
    w = d * EntropyBalancing().fit(Z, X_target=there, sample_weight=d).weights_
    np.testing.assert_allclose(again[:, 0], w / w.mean(), rtol=1e-5, atol=1e-9)


def test_more_replicates_than_rows_leave_out_each_row_once(files):
    given = ("--label", "y", "--method", "cdf", *PLAIN[:6], "--cluster", "c")
    _, columns, _, done = weigh(files, *given, "--replicates", "200")
    assert replicates(columns).shape == (N, 10)
    assert "there are 10: each is left out once" in done.err


def test_a_frequency_is_so_many_rows_of_the_sample(files):
    """A line's replicate is the mean of those of its repeats, so that all sums agree."""
    rows = np.repeat(np.arange(N), TIMES)
    write(files / "long.csv", {name: np.asarray(v)[rows] for name, v in TRAIN.items()})
    given = (*ASKED, "--weight", "d", *PLAIN[4:], "--replicates", "30")
    _, short, book, _ = weigh(files, *given, "--frequency", "n")
    _, long, _, _ = weigh(files, *given, "--drop", "n", train="long.csv")
    assert len(short["weight"]) == N
    assert (book["lines"], book["rows"]) == (N, TIMES.sum())
    for name, values in short.items():
        summed = np.bincount(rows, weights=long[name])
        np.testing.assert_allclose(TIMES * values, summed, rtol=1e-5, atol=1e-9)
    theta = np.average(Y[rows], weights=long["weight"])
    again = replicates(long)
    expected = ((Y[rows] @ again / again.sum(axis=0) - theta) ** 2).sum() / 30
    assert variance_of_the_mean(short, book, TIMES) == pytest.approx(expected, rel=1e-4)


def test_seeds_reproduce_and_clusters_do_not_depend_on_the_order_of_rows(files):
    given = (*ASKED, *PLAIN[:6], "--cluster", "c", "--replicates", "5")
    _, columns, _, _ = weigh(files, *given)
    before = (files / "w.csv").read_bytes()
    weigh(files, *given)
    assert (files / "w.csv").read_bytes() == before
    _, other, _, _ = weigh(files, *given, "--seed", "1")
    assert np.abs(replicates(other) - replicates(columns)).max() > 0.1
    order = np.random.default_rng(0).permutation(N)
    write(files / "mixed.csv", {name: np.asarray(v)[order] for name, v in TRAIN.items()})
    _, mixed, _, _ = weigh(files, *given, train="mixed.csv")
    for name, values in columns.items():
        np.testing.assert_allclose(mixed[name], values[order], rtol=1e-5, atol=1e-9)


def test_strata_that_the_target_has_stay_a_feature(files):
    write(files / "target.csv", {"a": T[:, 0], "b": T[:, 1], "h": STRATUM[:M]})
    given = (*ASKED, "--drop", "d", "--drop", "n", "--drop", "c")
    _, plain, _, _ = weigh(files, *given)
    _, columns, book, _ = weigh(files, *given, "--strata", "h", "--replicates", "2")
    np.testing.assert_array_equal(columns["weight"], plain["weight"])
    assert book["sample"]["columns"] == ["a", "b", "h"]


# Replicates of margins


def test_replicates_of_margins_meet_them_all(files):
    given = ("--method", "raking", "--weight", "d", "--drop", "n", "--label", "y")
    asked = ("--replicates", "40", "--sum-to", "size")
    _, columns, book, _ = weigh(files, *given, *asked, train="known.csv", target="margins.json")
    again = replicates(columns)
    assert again.sum(axis=0) == pytest.approx(np.full(40, 5000))
    np.testing.assert_allclose((SEX == "f") @ again / 5000, 0.6, atol=1e-6)
    assert book["target"]["source"] == "office"
    assert not book["replicates"]["target_drawn"]
    margins = Margins.from_json(files / "margins.json")
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": X[:, 0], "sex": SEX})
    found = estimate(
        frame,
        Y,
        margins,
        method="weights",
        weighter=Raking(),
        sample_weight=D,
        replicates=40,
    )
    np.testing.assert_allclose(again / 5000 * N, found.replicate_weights, rtol=1e-6)
    error = np.sqrt(variance_of_the_mean(columns, book))
    assert error == pytest.approx(found.standard_error, rel=1e-4)


def test_strata_and_clusters_leave_the_margins_as_they_are(files):
    given = ("--method", "raking", "--drop", "d", "--drop", "n", "--label", "y")
    there = {"train": "known.csv", "target": "margins.json"}
    _, plain, _, _ = weigh(files, *given, **there)
    asked = ("--strata", "sex", "--replicates", "4")
    _, columns, book, done = weigh(files, *given, *asked, **there)
    np.testing.assert_array_equal(columns["weight"], plain["weight"])
    assert book["target"]["columns"] == ["a", "sex"]
    assert "not used" not in done.err
    refused = covshift(
        "weigh",
        files / "known.csv",
        files / "margins.json",
        *given,
        *asked[2:],
        "--cluster",
        "nowhere",
    )
    assert refused.code == 2
    assert "no column 'nowhere'" in refused.err


def test_the_jackknife_of_margins_follows_the_error_of_estimate(files):
    given = ("--method", "raking", "--drop", "d", "--drop", "n", "--label", "y")
    asked = ("--replicates", "30", "--replicate-method", "jackknife")
    _, columns, book, _ = weigh(files, *given, *asked, train="known.csv", target="margins.json")
    assert (replicates(columns) == 0).sum(axis=0).tolist() == [2] * 30
    margins = Margins.from_json(files / "margins.json")
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": X[:, 0], "sex": SEX})
    found = estimate(frame, Y, margins, method="weights", weighter="raking")
    error = np.sqrt(variance_of_the_mean(columns, book))
    assert error == pytest.approx(found.standard_error, rel=0.3)


# Draws


@pytest.mark.parametrize("groups", [2, 5, 7, 40])
def test_the_jackknife_has_the_variance_of_the_influence_values(groups):
    """Strata of fewer, as many and more units than groups, and one of a single unit."""
    design = Design(None, np.repeat(np.arange(6), [1, 2, 3, 5, 7, 28]))
    z = np.random.default_rng(2).normal(size=design.units)
    z[0] = 0  # it stays, and has no error
    parts = [z[design.stratum == k] for k in range(1, 6)]
    expected = sum(len(p) / (len(p) - 1) * ((p - p.mean()) ** 2).sum() for p in parts)
    found, rng = [], np.random.default_rng(0)
    for _ in range(2000 // groups):
        own = np.array([own for own, _ in jackknife_draws(design, None, groups, rng)])
        found.append((groups - 1) / groups * ((own @ z - z.sum()) ** 2).sum())
    assert own.min() >= 0
    for k in range(6):
        np.testing.assert_allclose(own[:, design.stratum == k].mean(axis=1), 1)
    assert np.mean(found) == pytest.approx(expected, rel=0.1)


def test_the_target_is_drawn_beside_the_sample():
    parts = Design.simple(20), Design.simple(30)
    for draws in (
        jackknife_draws(*parts, 10, np.random.default_rng(0)),
        bootstrap_draws(*parts, np.random.default_rng(0)),
    ):
        own, others = next(draws)
        assert (own.shape, others.shape) == ((20,), (30,))
        assert others.mean() == pytest.approx(1)
    own, others = next(bootstrap_draws(parts[0], Design.simple(1), np.random.default_rng(0)))
    assert others is None


def test_draws_without_weights_are_drawn_again_and_counted():
    calls = []

    def fit(d, _):
        calls.append(d)
        if len(calls) % 3 == 0:
            raise NoOverlapError("nothing there")
        return np.ones(len(d))

    options = {"kind": "bootstrap", "count": 10, "random_state": 0}
    found = replicate(fit, np.ones(8), Design.simple(8), None, **options)
    assert (found.plan.count, found.redrawn, len(calls)) == (10, 4, 14)
    kept = [d for k, d in enumerate(calls, start=1) if k % 3]
    np.testing.assert_allclose(found.weights, np.transpose(kept))


def test_too_few_draws_with_weights_are_an_error_that_says_so():
    def fit(*_):
        raise NoOverlapError("nothing there")

    given = fit, np.ones(8), Design.simple(8), None
    with pytest.raises(NoOverlapError, match=r"In 20 of 20 draws .* nothing there"):
        replicate(*given, kind="bootstrap", count=10, random_state=0)
    with pytest.raises(NoOverlapError, match=r"Without group 1 of 4 .* nothing there"):
        replicate(*given, kind="jackknife", count=4, random_state=0)


def test_the_command_tells_of_draws_without_weights(files):
    """The last stratum of two rows is all that is above 3, and one of the two is often lost."""
    lonely = np.where(np.arange(N) < 2, "two", "others")
    a = np.where(np.arange(N) < 2, [9.0, *X[1:, 0]], np.minimum(X[:, 0], 2))
    columns = {"a": {(None, 3): 0.9, (3, None): 0.1}}
    Margins(columns).to_json(files / "high.json")
    write(files / "high.csv", {"a": a, "h": lonely})
    given = ("--method", "raking", "--strata", "h", "--replicates", "30")
    _, columns, book, done = weigh(files, *given, train="high.csv", target="high.json")
    assert replicates(columns).shape == (N, 30)
    redrawn = book["replicates"]["redrawn"]
    assert 10 < redrawn < 60
    assert f"in {redrawn} of {30 + redrawn} draws no weights were found" in done.err


# Codebook and refusals


def test_the_codebook_names_every_column_and_how_it_was_made(files):
    given = (*ASKED, "--weight", "d", *PLAIN[2:], "--replicates", "3", "--seed", "7")
    _, columns, book, done = weigh(files, *given)
    assert [part["name"] for part in book["columns"]] == ["row", *columns]
    assert all(part["meaning"] and part["scale"] for part in book["columns"])
    assert book["method"]["name"] == "entropy"
    assert book["method"]["parameters"]["tol"] == EntropyBalancing().tol
    assert book["file"] == "w.csv"
    assert (book["lines"], book["rows"], book["seed"]) == (N, N, 7)
    assert book["target"] == {"kind": "rows", "file": "target.csv", "rows": M}
    w = columns["weight"]
    quality = book["quality"]
    assert quality["effective_sample_size"] == pytest.approx(w.sum() ** 2 / (w @ w))
    assert quality["largest_weight_over_mean"] == pytest.approx(w.max())
    assert book["replicates"]["columns"] == ["replicate_001", "replicate_003"]
    assert f"explained in {files / 'w.codebook.json'}" in done.out


def test_the_codebook_goes_where_it_is_asked_to(files):
    base = ("weigh", files / "train.csv", files / "target.csv", *ASKED, *PLAIN)
    printed = covshift(*base)
    assert printed.out.startswith("row,weight,design_weight,factor\n")
    assert not list(files.glob("*.codebook.json"))
    assert covshift(*base, "--codebook", files / "book.json").code == 0
    assert json.loads((files / "book.json").read_text())["file"] is None
    assert covshift(*base, "-o", files / "w.csv", "--no-codebook").code == 0
    assert covshift(*base, "-o", "/dev/null").code == 0
    assert not list(files.glob("*.codebook.json"))


def test_neither_file_is_overwritten_without_force(files):
    base = ("weigh", files / "train.csv", files / "target.csv", *ASKED, *PLAIN)
    (files / "w.codebook.json").write_text("mine")
    done = covshift(*base, "-o", files / "w.csv")
    assert done.code == 2
    assert "w.codebook.json exists" in done.err
    assert not (files / "w.csv").exists()
    assert (files / "w.codebook.json").read_text() == "mine"
    assert covshift(*base, "-o", files / "w.csv", "--force").code == 0
    assert json.loads((files / "w.codebook.json").read_text())["lines"] == N
    train = (files / "train.csv").read_bytes()
    done = covshift(*base, "-o", files / "w.csv", "--force", "--codebook", files / "train.csv")
    assert "is an input file" in done.err
    assert (files / "train.csv").read_bytes() == train


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--strata", "h"), "--strata is for replicate weights"),
        (("--replicate-method", "jackknife"), "add --replicates B"),
        (("--finite-population",), "add --replicates B"),
        (("--replicates", "1"), "at least two"),
        (("--replicates", "61", "--replicate-method", "jackknife"), "at most 60 replicates"),
        (("--sum-to", "size"), "name the population's size"),
        (("--sum-to", "-4"), "not a positive number"),
        (("--codebook", "b.json", "--no-codebook"), "keep one"),
        (("--codebook", "-"), "goes to a file"),
    ],
)
def test_what_cannot_be_is_refused(files, options, said):
    out = files / "w.csv"
    given = ("weigh", files / "train.csv", files / "target.csv", *ASKED, *PLAIN, "-o", out)
    done = covshift(*given, *options)
    assert done.code == 2
    assert said in done.err
    assert not out.exists()


def test_a_weighter_that_takes_no_design_weights_has_no_replicates(files, monkeypatch):
    monkeypatch.setattr(EntropyBalancing, "_takes_sample_weight", False)
    given = ("weigh", files / "train.csv", files / "target.csv", *ASKED, *PLAIN)
    done = covshift(*given, "--replicates", "3")
    assert done.code == 2
    assert "which entropy does not take" in done.err


def test_a_single_cluster_tells_nothing(files):
    write(files / "one.csv", {"a": X[:, 0], "b": X[:, 1], "c": np.zeros(N)})
    given = ("weigh", files / "one.csv", files / "target.csv", "--method", "entropy")
    done = covshift(*given, "--cluster", "c", "--replicates", "3")
    assert done.code == 2
    assert "in one cluster" in done.err


# The default


@pytest.mark.parametrize("weight", [None, "d"])
def test_by_default_the_weights_are_those_of_estimate(files, weight):
    plain = [part for name in "nhc" for part in ("--drop", name)]
    given = ["--weight", weight] if weight else ["--drop", "d"]
    _, found, book, done = weigh(files, "--label", "y", *plain, *given)
    expected = estimate(X, Y, T, sample_weight=D if weight else None).weights
    np.testing.assert_allclose(found["weight"], expected, rtol=1e-10)
    assert done.out.count("These are the weights that covshift estimate uses.") == 1
    assert (book["method"]["name"], book["method"]["as_estimate"]) == ("tilted-cdf", True)
    _, named, book, done = weigh(files, "--label", "y", *plain, *given, "--method", "tilted-cdf")
    np.testing.assert_array_equal(named["weight"], found["weight"])
    assert "These are the weights" not in done.out
    assert not book["method"]["as_estimate"]


def test_by_default_margins_are_met_as_estimate_meets_them(files):
    margins = Margins.from_json(files / "margins.json")
    given = {"train": "known.csv", "target": "margins.json"}
    _, found, book, done = weigh(files, "--label", "y", "--drop", "d", "--drop", "n", **given)
    pandas = pytest.importorskip("pandas")
    expected = estimate(pandas.DataFrame({"a": X[:, 0], "sex": SEX}), Y, margins)
    np.testing.assert_allclose(found["weight"], expected.weights, rtol=1e-10)
    assert "These are the weights that covshift estimate uses." in done.out
    assert book["method"]["name"] == "entropy"
