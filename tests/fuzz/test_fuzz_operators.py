"""V of any samples: what the paper's loops say, and what no order, unit or repeat changes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import reference
from fuzz.cases import fuzz
from fuzz.samples import Samples, samples
from hypothesis import example
from hypothesis import strategies as st

from covshift.corrections import CORRECTIONS, Additive, Multiplicative, Pairwise
from covshift.testing import check_operator

pytestmark = pytest.mark.filterwarnings("ignore::covshift.exceptions.CoverageWarning")
ORACLES = {
    Multiplicative: reference.algorithm_1,
    Additive: reference.algorithm_2,
    Pairwise: reference.pairwise,
}
NAMES = st.sampled_from(sorted(CORRECTIONS))
FAR = (1.0, 1e-300, 1e300, 1e-6, 1e6)
CLOSE = {"rtol": 1e-9, "atol": 1e-12}


def made(name):
    """A correction by its name: the same directions each time, and weights that are cheap."""
    options = {"doubly-corrected": {"weights": "gaussian-ratio"}, "sliced": {"random_state": 0}}
    return CORRECTIONS[name](**options.get(name, {}))


def dense(correction, X, T, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of weights and coverage: not what is asked here
        return correction.operator(X, T, **options).dense()


@fuzz(
    samples(features=(2, 3), units=FAR),
    st.sampled_from(list(ORACLES)),
    st.booleans(),
    of_100_000=4_200,
)
def test_v_is_that_of_the_papers_loops(drawn, make, symmetric):
    oracle = ORACLES[make]
    X, T = drawn.X, drawn.T
    expected = reference.mirrored(oracle, X, T) if symmetric else oracle(X, T)
    np.testing.assert_allclose(dense(make(symmetric=symmetric), X, T), expected, **CLOSE)


@fuzz(samples(), NAMES, of_100_000=3_500)
def test_products_factor_and_diagonal_tell_one_positive_v(drawn, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        V = made(name).operator(drawn.X, drawn.T)
    check_operator(V, random_state=drawn.seed)


@fuzz(samples(), NAMES, of_100_000=2_100)
@example(Samples(np.zeros((1, 1)), np.array([[0.5]]), 0), "sliced")
def test_v_follows_the_order_of_the_rows_and_no_other(drawn, name):
    rows, order = drawn.orders
    V = dense(made(name), drawn.X, drawn.T)
    np.testing.assert_allclose(
        dense(made(name), drawn.X[rows], drawn.T[order]),
        V[np.ix_(rows, rows)],
        rtol=1e-7,
        atol=1e-9 * np.abs(V).max(),
    )


@fuzz(samples(units=(1.0,)), st.sampled_from(list(ORACLES)), st.booleans(), of_100_000=1_400)
def test_only_the_order_of_values_enters_the_papers_v(drawn, make, symmetric):
    both = np.concatenate([drawn.X, drawn.T])
    ranks = np.column_stack([np.unique(x, return_inverse=True)[1].reshape(-1) for x in both.T])
    N = len(drawn.X)
    np.testing.assert_array_equal(
        dense(make(symmetric=symmetric), drawn.X, drawn.T),
        dense(make(symmetric=symmetric), ranks[:N].astype(float), ranks[N:].astype(float)),
    )
