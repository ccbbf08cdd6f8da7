"""The V-loss for PyTorch: of all rows at once, and an unbiased estimate of it from a batch.

The loss couples rows, so the mean over a batch is not what it is over all of them; what has to be
added is the weight of pairs (theory, eq. 5.11).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from .corrections import as_correction
from .corrections.matrix import warn_if_unseen
from .data.row_weights import row_weights, target_weights
from .data.validation import check_samples, refuse_margins, unwrap_target
from .exceptions import InputError, InputTypeError, import_extra
from .numerics.array import Array, to_numpy
from .operators import VOperator

torch: Any = import_extra("torch", extra="torch", needed_by="covshift.torch")

__all__ = ["VLoss"]

Tensor = Any


class VLoss(torch.nn.Module):  # type: ignore[misc]
    """The V-loss of residuals r = f(x) - y: r'Vr / N^2 (paper, eq. 7; theory, eq. 1.3).

    Parameters
    ----------
    X : (N, n) array, tensor or data frame
        The training rows.
    X_target : (M, n) array, tensor or data frame, or a one-tuple of it, optional
        Target rows. None: the target is the training sample.
    correction : str or correction
        How V is made: a name or an object of `covshift.corrections`.
    sample_weight, target_weight : (N,) and (M,) arrays, optional
        Probability weights of the rows, on any scale: they are divided by their mean.

    Attributes
    ----------
    target_coverage_ : float
        Share of the training rows that the target sees; the others do not enter the loss.

    Notes
    -----
    A call takes one product with V, its gradient none: O(n (N + M)) for one-dimensional views
    (additive, sliced, blended), b rows in the place of N for a batch; no N x N array. It can be
    differentiated twice.

    The loss goes where the residuals are, in their precision (half precision is raised to single):
    V is made on their device at the first call and kept. On a GPU that is CUDA's, all of the work
    stays there; for any other device products are taken on the host. The module has no parameters
    and no state to save.

    The loss of a batch is an estimate without bias, for batches drawn uniformly and without
    replacement, as a shuffled ``DataLoader`` draws them; it may be negative. Its variance falls
    as one over the batch, and faster where residuals are centred: take large batches.

    Examples
    --------
    >>> import torch
    >>> from covshift.torch import VLoss
    >>> X, T = [[0.0], [1.0], [2.0]], [[0.5], [1.0], [2.0], [3.0]]
    >>> loss = VLoss(X, T, "additive")
    >>> r = torch.tensor([1.0, -1.0, 0.5], requires_grad=True)
    >>> loss(r)  # V = [[1, 3/4, 1/2], [3/4, 3/4, 1/2], [1/2, 1/2, 1/2]]
    tensor(0.0417, grad_fn=<DivBackward0>)
    >>> batch = torch.tensor([2, 0])
    >>> loss(r[batch], batch)
    tensor(0.3542, grad_fn=<DivBackward0>)
    """

    def __init__(
        self,
        X: Any,
        X_target: Any = None,
        correction: Any = "blended",
        *,
        target_weight: Any = None,
        sample_weight: Any = None,
    ) -> None:
        super().__init__()
        self.correction = clone(as_correction(correction), safe=False)
        refuse_margins(unwrap_target(X_target), "X_target", "VLoss")
        if unwrap_target(X_target) is None and target_weight is None:
            target_weight = sample_weight
        self._X, self._T, self._share = check_samples(
            _host_unless_cuda(X), _host_unless_cuda(X_target), target_weight
        )
        self.n_rows = int(self._X.shape[0])
        weights = row_weights(self.n_rows, sample_weight)
        target = target_weights(int(self._T.shape[0]), unwrap_target(target_weight))
        self._given = weights.options("sample_weight")
        self._given |= target.options("target_weight")
        self._total = float(weights.rows)
        self._on: dict[str, _OnDevice] = {}
        self.target_coverage_ = warn_if_unseen(
            self.correction.raw_diagonal(self._X, self._T, self._share),
            correction=self.correction,
        )

    def forward(self, residuals: Tensor, index: Any = None) -> Tensor:
        """Return the loss of all rows, or without bias from those of a batch.

        Parameters
        ----------
        residuals : (N,) or (N, k) tensor; (b,) or (b, k) for a batch
            f(x) - y of the rows in the order of X, or of the rows of the batch. Columns (one-hot
            classes, several outcomes) are summed.
        index : (b,) integer tensor or array, optional
            Numbers of the batch's rows in X: at least two, each once.
        """
        r = self._check_residuals(residuals)
        here = self._on_device(r.device)
        if index is None:
            if r.shape[0] != self.n_rows:
                raise InputError(
                    f"residuals have {r.shape[0]} rows, but X has {self.n_rows}. For a batch, pass "
                    "the numbers of its rows too: loss(residuals, index)."
                )
            return _Quadratic.apply(r, here.product(here.V)) / self._total**2
        rows = self._check_index(index, r, here)
        N, b = self.n_rows, r.shape[0]
        own = (here.own(rows, r)[:, None] * r**2).sum()
        every = _Quadratic.apply(r, here.product(here.V.subset(rows)))
        pairs = N * (N - 1) / (b * (b - 1))
        return (pairs * (every - own) + N / b * own) / self._total**2

    def extra_repr(self) -> str:
        """Describe the loss in the summary of a network."""
        return f"{self.n_rows} rows, {len(self._T)} target rows, {self.correction!r}"

    def _check_residuals(self, residuals: Tensor) -> Tensor:
        if not isinstance(residuals, torch.Tensor) or not residuals.is_floating_point():
            raise InputTypeError(
                "residuals must be a tensor of floating point numbers, got "
                f"{getattr(residuals, 'dtype', type(residuals).__name__)}."
            )
        if residuals.ndim not in (1, 2):
            raise InputError(
                f"residuals have shape {tuple(residuals.shape)}; expected (rows,) or (rows, k). "
                "Subtract outcomes in the shape of the predictions."
            )
        if residuals.dtype in (torch.float16, torch.bfloat16):
            residuals = residuals.float()
        return residuals.reshape(residuals.shape[0], -1)

    def _check_index(self, index: Any, r: Tensor, here: _OnDevice) -> Any:
        rows = torch.as_tensor(index)
        if rows.ndim != 1 or rows.is_floating_point() or rows.dtype == torch.bool:
            raise InputError(
                f"index must be a list of row numbers, got {rows.dtype} of shape "
                f"{tuple(rows.shape)}."
            )
        if len(rows) != r.shape[0]:
            raise InputError(f"index names {len(rows)} rows, but residuals have {r.shape[0]}.")
        if len(rows) < 2:
            raise InputError(
                "A batch of one row holds no pair, and the V-loss is about pairs. Use batches of "
                "two rows or more, and drop_last=True in the DataLoader."
            )
        if int(rows.min()) < 0 or int(rows.max()) >= self.n_rows:
            raise InputError(
                f"index goes from {int(rows.min())} to {int(rows.max())}, but X has rows 0 to "
                f"{self.n_rows - 1}."
            )
        if len(torch.unique(rows)) < len(rows):
            raise InputError("index names a row twice. Draw batches without replacement.")
        return to_numpy(rows) if here.host else rows.to(r.device)

    def _on_device(self, device: Any) -> _OnDevice:
        """V where the residuals are; made once for a device."""
        host = _computes_on_host(device)
        name = "host" if host else str(device)
        if name not in self._on:
            X, T = (
                to_numpy(part) if host else torch.as_tensor(part, device=device)
                for part in (self._X, self._T)
            )
            V = self.correction.operator(X, (T,), **self._given)
            self._on[name] = _OnDevice(V, V.diagonal(), host)
        return self._on[name]


@dataclass(frozen=True)
class _OnDevice:
    """V and its diagonal, of NumPy's arrays on the host or of tensors on a GPU."""

    V: VOperator
    diagonal: Array
    host: bool

    def product(self, V: VOperator) -> Callable[[Tensor], Tensor]:
        """Return the function A -> V A on tensors."""
        if not self.host:
            return V.matmat
        return lambda A: torch.from_numpy(V.matmat(A.cpu().numpy())).to(A.device)

    def own(self, rows: NDArray[np.intp] | Tensor, like: Tensor) -> Tensor:
        """Return V(i, i) of some rows, as the residuals are."""
        some = self.diagonal[rows]
        return torch.as_tensor(some).to(dtype=like.dtype, device=like.device)


class _Quadratic(torch.autograd.Function):  # type: ignore[misc]
    """r'Vr, summed over the columns of r; V symmetric, given as its product."""

    @staticmethod
    def forward(ctx: Any, r: Tensor, product: Callable[[Tensor], Tensor]) -> Tensor:
        Vr = product(r.detach())
        ctx.save_for_backward(r, Vr)
        ctx.product = product
        return (r * Vr).sum()

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, None]:
        r, Vr = ctx.saved_tensors
        if torch.is_grad_enabled():  # the gradient is to be differentiated again
            Vr = _Product.apply(r, ctx.product)
        return 2 * slope * Vr, None


class _Product(torch.autograd.Function):  # type: ignore[misc]
    """V A; V symmetric, given as its product."""

    @staticmethod
    def forward(ctx: Any, A: Tensor, product: Callable[[Tensor], Tensor]) -> Tensor:
        ctx.product = product
        return product(A.detach())

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, None]:
        return _Product.apply(slope, ctx.product), None


def _computes_on_host(device: Any) -> bool:
    """Tell whether NumPy takes the products: faster on a CPU; elsewhere float64 may be missing."""
    return bool(device.type != "cuda")


def _host_unless_cuda(points: Any) -> Any:
    """Return points that no GPU of CUDA holds as NumPy arrays, the rest as it is."""
    if isinstance(points, tuple):
        return tuple(_host_unless_cuda(part) for part in points)
    if isinstance(points, torch.Tensor) and _computes_on_host(points.device):
        return to_numpy(points)
    return points
