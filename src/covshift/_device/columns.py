"""The columns [K(x, Z), 1, y] of a block of rows on a device, made where they are summed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from .bins import SortedRows
from .compiled import digits_serve
from .masks import MaskTables
from .products import as_digits, bits_times_digits


class DeviceColumns:
    """Columns in float64: kernel values of the rows X (b, n), then ``others`` (b, k).

    Without ``features`` there are no kernel values.
    """

    def __init__(self, X: Any, others: Any, features: Any = None) -> None:
        self._X, self._others, self._features = X, others.double(), features

    @cached_property
    def array(self) -> Any:
        """All columns: (b, q)."""
        return self._weighted(self._X.new_ones(len(self._X)).double(), self._others)

    def bin_totals(self, codes: Sequence[Any], offsets: Sequence[int], w: Any) -> Any:
        """Sums of w times the columns, and of w, over the bins of every view: (bins, q + 1)."""
        w = w.double()
        return SortedRows(codes, offsets).totals(self._weighted(w, self._with_weights(w)))

    def dominance_totals(self, masks: MaskTables, bits: Any, w: Any) -> Any:
        """Sums of w times the columns, and of w, over what each target dominates: (M, q + 1)."""
        import torch

        w, B = w.double(), masks.unpacked(bits)
        last = self._with_weights(w)
        compiled = None if self._features is None else self._features.compiled(self._X)
        if compiled is None or not digits_serve(self._X):
            return (B.double() @ self._weighted(w, last))[: masks.count]
        gaussian, points = compiled
        unit = w.amax().clamp_min(1e-300)
        values = bits_times_digits(B, gaussian.digits(points, w / unit))
        digits, units = as_digits(last)
        rest = bits_times_digits(B, digits)
        found = [values[:, : gaussian.count] * unit, rest[:, : last.shape[1]] * units]
        return torch.cat(found, dim=1)[: masks.count]

    def _with_weights(self, w: Any) -> Any:
        import torch

        return torch.cat([w[:, None] * self._others, w[:, None]], dim=1)

    def _weighted(self, w: Any, last: Any) -> Any:
        """[w K(x, Z), last] as one array."""
        import torch

        if self._features is None:
            return torch.cat([w[:, None] * self._others[:, :0], last], dim=1)
        compiled = self._features.compiled(self._X)
        if compiled is None:
            return torch.cat([w[:, None] * self._features(self._X.double()), last], dim=1)
        gaussian, points = compiled
        D = gaussian.count
        out = torch.empty((len(w), D + last.shape[1]), dtype=torch.float64, device=w.device)
        gaussian.write(points, w, out)
        out[:, D:] = last
        return out
