"""The V-loss in PyTorch: values, gradients, batches without bias, devices and errors."""

from __future__ import annotations

import copy
import doctest
import io
import tracemalloc
from itertools import combinations

import numpy as np
import portable
import pytest
import reference

from covshift import v_matrix
from covshift.corrections import Additive, Precomputed
from covshift.exceptions import CoverageWarning

N = 25


@pytest.fixture(scope="module")
def module(torch):
    import covshift.torch

    return covshift.torch


@pytest.fixture(params=["host", "tensors"])
def VLoss(request, module, monkeypatch):
    """The loss, by NumPy and by the code that runs on a GPU (here on the CPU's tensors)."""
    if request.param == "tensors":
        monkeypatch.setattr(module, "_computes_on_host", lambda device: False)
    return module.VLoss


def problem(torch, n_rows=N, columns=None, seed=0):
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(n_rows, 3)), rng.normal(0.3, 1.2, size=(40, 3))
    r = rng.normal(size=n_rows if columns is None else (n_rows, columns))
    return X, T, torch.tensor(r, requires_grad=True), rng


def mean_over_batches(torch, loss, r, size):
    """Mean of loss and gradient over all batches of a size."""
    batches = [torch.tensor(rows) for rows in combinations(range(len(r)), size)]
    mean = sum(loss(r[rows], rows) for rows in batches) / len(batches)
    return mean.item(), torch.autograd.grad(mean, r)[0].numpy()


def test_it_is_the_loss_of_the_paper(torch, VLoss):
    X, T, r, _ = problem(torch)
    expected = reference.rho_squared(r.detach().numpy(), reference.algorithm_2(X, T))
    assert VLoss(X, T, "additive")(r).item() == pytest.approx(expected, rel=1e-12)
    expected = reference.rho_squared_by_definition(r.detach().numpy(), np.zeros(N), X, T)
    assert VLoss(X, T, "multiplicative")(r).item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("correction", portable.CORRECTIONS, ids=portable.label)
def test_every_correction_gives_value_and_gradient(torch, VLoss, correction):
    X, T, r, rng = problem(torch, columns=2)
    V, values = correction.operator(X, T).dense(), r.detach().numpy()
    loss = VLoss(X, T, correction)
    full = loss(r)
    assert full.item() == pytest.approx(np.trace(values.T @ V @ values) / N**2, rel=1e-9)
    full.backward()
    np.testing.assert_allclose(r.grad, 2 * V @ values / N**2, atol=1e-12)
    rows = rng.permutation(N)[:7]
    some, part = values[rows], V[np.ix_(rows, rows)]
    own = (np.diag(part)[:, None] * some**2).sum()
    pairs = np.trace(some.T @ part @ some) - own
    expected = (N / 7 * own + N * (N - 1) / (7 * 6) * pairs) / N**2
    assert loss(r[rows], rows).item() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("correction", ["additive", "blended", "multiplicative"])
def test_derivatives_of_first_and_second_order(torch, VLoss, correction):
    X, T, r, _ = problem(torch, 8, columns=2)
    loss, rows = VLoss(X, T, correction), torch.tensor([6, 0, 3])
    for function in (loss, lambda r: loss(r[rows], rows)):
        assert torch.autograd.gradcheck(function, [r])
        assert torch.autograd.gradgradcheck(function, [r])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("correction", ["additive", "blended", "none"])
@pytest.mark.parametrize("size", [2, 3, 5, 6])
def test_the_mean_over_all_batches_is_the_loss(torch, VLoss, size, correction, weighted):
    X, T, r, rng = problem(torch, 6)
    weight = rng.integers(1, 4, size=6) if weighted else None
    loss = VLoss(X, T, correction, sample_weight=weight)
    full = loss(r)
    gradient = torch.autograd.grad(full, r)[0]
    mean, mean_gradient = mean_over_batches(torch, loss, r, size)
    assert mean == pytest.approx(full.item(), rel=1e-10)
    np.testing.assert_allclose(mean_gradient, gradient, rtol=1e-9, atol=1e-14)


def test_the_plain_loss_of_a_batch_is_biased(torch, VLoss):
    X, T, r, _ = problem(torch, 6)
    full = VLoss(X, T, "additive")(r).item()

    def plain(residuals, rows):
        return VLoss(X[rows], T, "additive")(residuals)

    assert abs(mean_over_batches(torch, plain, r, 3)[0] / full - 1) > 0.1


def test_a_batch_of_all_rows_is_the_loss(torch, VLoss):
    X, T, r, rng = problem(torch)
    loss, rows = VLoss(X, T), rng.permutation(N)
    assert loss(r[rows], rows).item() == pytest.approx(loss(r).item(), rel=1e-12)


def test_weights_have_no_scale(torch, VLoss):
    X, T, r, rng = problem(torch)
    weight = rng.integers(0, 4, size=N)
    for target in (T, None):
        one, same = (VLoss(X, target, sample_weight=c * weight)(r).item() for c in (1, 1000))
        assert one == pytest.approx(same, rel=1e-10)


def test_precision_follows_the_residuals(torch, VLoss):
    X, T, r, _ = problem(torch)
    loss, rows = VLoss(torch.tensor(X), torch.tensor(T)), torch.arange(5)
    for dtype, result in [
        (torch.float64, torch.float64),
        (torch.float32, torch.float32),
        (torch.float16, torch.float32),
        (torch.bfloat16, torch.float32),
    ]:
        residuals = r.detach().to(dtype).requires_grad_()
        for found in (loss(residuals), loss(residuals[rows], rows)):
            assert found.dtype == result
            (gradient,) = torch.autograd.grad(found, residuals)
            assert gradient.dtype == dtype
        accuracy = {torch.float64: 1e-12, torch.float32: 1e-5}.get(dtype, 5e-2)
        assert loss(residuals).item() == pytest.approx(loss(r).item(), rel=accuracy)


def test_a_linear_network_finds_the_closed_form(torch, VLoss):
    X, T, _, rng = problem(torch, 60)
    y = X @ [1.0, -2.0, 0.5] + 0.3 + rng.normal(size=60)
    V, A = v_matrix(X, T, Additive(symmetric=True)), np.column_stack([X, np.ones(60)])
    exact = np.linalg.solve(A.T @ V @ A, A.T @ V @ y)
    layer = torch.nn.Linear(3, 1, dtype=torch.float64)
    loss = VLoss(X, T, Additive(symmetric=True))
    inputs, outcomes = torch.tensor(X), torch.tensor(y)[:, None]
    optimizer = torch.optim.LBFGS(
        layer.parameters(), max_iter=200, tolerance_grad=1e-14, tolerance_change=1e-18
    )

    def closure():
        optimizer.zero_grad()
        found = 1e3 * loss(layer(inputs) - outcomes)
        found.backward()
        return found

    optimizer.step(closure)
    found = [*layer.weight.detach().numpy().ravel(), layer.bias.item()]
    np.testing.assert_allclose(found, exact, atol=1e-5)


def test_no_square_array_is_held(torch, module):
    X, T, r, rng = problem(torch, 20_000)
    rows = rng.permutation(20_000)[:500]
    tracemalloc.start()
    loss = module.VLoss(X, T)
    loss(r).backward()
    loss(r[rows], rows).backward()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6  # V would take 3.2 GB


def test_it_is_a_module_without_state(torch, VLoss):
    X, T, r, _ = problem(torch)
    loss = VLoss(X, T, Additive())
    assert not list(loss.parameters())
    assert not loss.state_dict()
    assert repr(loss) == "VLoss(25 rows, 40 target rows, Additive())"
    before = loss(r).item()
    loss = loss.to(torch.float16)  # casts parameters; the points stay as they are
    assert loss(r).item() == before
    assert copy.deepcopy(loss)(r).item() == before
    buffer = io.BytesIO()
    torch.save(loss, buffer)
    buffer.seek(0)
    assert torch.load(buffer, weights_only=False)(r).item() == before


def test_on_a_gpu(torch, module):
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    for correction in portable.CORRECTIONS:
        X, T, r, rng = problem(torch)
        rows = rng.permutation(N)[:9]
        here, there = module.VLoss(X, T, correction), r.detach().cuda().requires_grad_()
        given = module.VLoss(torch.tensor(X).cuda(), torch.tensor(T).cuda(), correction)
        for loss in (here, given):
            found = loss(there)
            assert found.is_cuda
            assert found.item() == pytest.approx(here(r).item(), rel=1e-9)
            (gradient,) = torch.autograd.grad(found, there)
            np.testing.assert_allclose(
                gradient.cpu(), torch.autograd.grad(here(r), r)[0], atol=1e-12
            )
            for index in (rows, torch.tensor(rows), torch.tensor(rows).cuda()):
                batch = loss(there[torch.tensor(rows).cuda()], index)
                assert batch.item() == pytest.approx(here(r[rows], rows).item(), rel=1e-9)
        assert given(r).item() == pytest.approx(here(r).item(), rel=1e-9)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ([3], "holds no pair"),
        ([0, 0], "names a row twice"),
        ([0, N], "index goes from 0 to 25, but X has rows 0 to 24"),
        ([-1, 2], "index goes from -1 to 2"),
        ([0.0, 1.0], "list of row numbers, got torch.float32"),
        ([True, False], "list of row numbers, got torch.bool"),
        ([[0, 1]], "list of row numbers"),
        ([0, 1, 2], "index names 3 rows, but residuals have 2"),
    ],
)
def test_a_bad_index_is_refused(torch, VLoss, index, message):
    X, T, r, _ = problem(torch)
    residuals = r[: 1 if len(index) == 1 and index != [[0, 1]] else 2]
    with pytest.raises(ValueError, match=message):
        VLoss(X, T)(residuals, index)


def test_bad_residuals_are_refused(torch, VLoss):
    X, T, r, _ = problem(torch)
    loss = VLoss(X, T)
    with pytest.raises(ValueError, match=r"pass the numbers of its rows too: loss\(residuals, ind"):
        loss(r[:5])
    with pytest.raises(ValueError, match=r"shape \(25, 1, 1\); expected"):
        loss(r[:, None, None])
    with pytest.raises(TypeError, match=r"floating point numbers, got torch.int64"):
        loss(torch.arange(N))
    with pytest.raises(TypeError, match="got float64"):
        loss(np.zeros(N))


def test_rows_that_the_target_does_not_see_are_told(torch, VLoss):
    X, T, r, _ = problem(torch)
    X[:10] = 100.0
    with pytest.warns(CoverageWarning, match="10 of 25 training points") as caught:
        loss = VLoss(X, T, "additive")
    assert caught[0].filename == __file__
    assert loss.target_coverage_ == pytest.approx(15 / 25)
    loss(r).backward()
    assert not r.grad[:10].any()


def test_a_v_from_elsewhere(torch, VLoss):
    X, T, r, _ = problem(torch)
    V = v_matrix(X, T)
    found = VLoss(X, None, Precomputed(V))(r).item()
    assert found == pytest.approx(VLoss(X, T, "additive")(r).item(), rel=1e-12)


def test_the_example_in_the_docstring(module):
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.testmod(module, optionflags=options).failed == 0
