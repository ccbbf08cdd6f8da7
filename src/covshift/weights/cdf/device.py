"""One-dimensional views of PyTorch tensors, on their device: `_lines` for a GPU.

Sorted once; then every product is a sum into bins, a prefix sum and a look-up. Solved among the
thresholds (`_thresholds`), in double precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._array import searchsorted, to_numpy
from ..._types import Real
from .lines import TAILS, WORTH_MERGING


@dataclass(frozen=True)
class DeviceSteps:
    """Thresholds of one view, sorted and distinct; the weight of each, and F there."""

    thresholds: Any  # (U,)
    weights: Any  # (U,), float64
    below: Any  # (U,), float64

    @classmethod
    def of(cls, t: Any, share: Any, *, even_tails: bool) -> DeviceSteps:
        """Sort one view of the target, and add the shares of equal values; zeros are dropped."""
        import torch

        t, order = torch.sort(t[share > 0])
        total = torch.cumsum(share[share > 0][order], 0)
        last = torch.ones_like(t, dtype=torch.bool)
        last[:-1] = t[1:] != t[:-1]
        below = total[last]
        weights = torch.diff(below, prepend=below.new_zeros(1))
        if even_tails:
            up_to = 2 * below - weights
            above = 2 * torch.cumsum(weights.flip(0), 0).flip(0) - weights
            weights = TAILS * 2 * (weights / up_to + weights / above)
        return cls(t[last], weights, below)

    def group_of(self, size: int) -> Any:
        """Number the groups of neighbours of about equal weight: (U,), without gaps."""
        import torch

        U = len(self.thresholds)
        if size >= U:
            return torch.arange(U, device=self.thresholds.device)
        middle = torch.cumsum(self.weights, 0) - self.weights / 2
        group = (middle * (size / self.weights.sum())).long().clip(0, size - 1)
        return torch.cumsum((torch.diff(group, prepend=group[:1]) > 0).long(), 0)

    def merged(self, group: Any) -> tuple[DeviceSteps, Any]:
        """Merge groups of thresholds; also return the code that each old code becomes."""
        import torch

        U, device = len(self.thresholds), self.thresholds.device
        count = int(group[-1]) + 1
        number = torch.arange(count, device=device)
        first = torch.searchsorted(group, number)
        last = torch.searchsorted(group, number, right=True) - 1
        chosen = (first + last) // 2
        weights = self.weights.new_zeros(count).index_add_(0, group, self.weights)
        steps = DeviceSteps(self.thresholds[chosen], weights, self.below[chosen])
        return steps, torch.searchsorted(chosen, torch.arange(U + 1, device=device))


class DeviceLineTarget:
    """The target side of views that map every point to a number: `LineTarget` on a device."""

    def __init__(self, project: Callable[[Any], Iterable[Any]], steps: list[DeviceSteps]) -> None:
        import torch

        self.project, self.steps = project, steps
        self.F = torch.cat([step.weights.sqrt() * step.below for step in steps])
        trace = sum(float(step.weights @ step.below) for step in steps)
        self.spread = max(trace - float(self.F @ self.F), 0.0)

    @classmethod
    def of(
        cls,
        project: Callable[[Any], Iterable[Any]],
        T: Any,
        share: Any,
        *,
        even_tails: bool = False,
    ) -> DeviceLineTarget:
        """Sort the target T (M, n) in each view."""
        steps = [DeviceSteps.of(t, share, even_tails=even_tails) for t in project(T)]
        return cls(project, [replace(step, weights=step.weights / len(steps)) for step in steps])

    def rows(self, X: Any) -> DeviceLineRows:
        """R for the rows X (N, n)."""
        values = zip(self.steps, self.project(X), strict=True)
        return DeviceLineRows(self.steps, [searchsorted(step.thresholds, x) for step, x in values])

    def coarse(self, size: int) -> DeviceLineTarget | None:
        """Merge the thresholds of each view to at most ``size``; None where that saves little."""
        if max(len(step.weights) for step in self.steps) < WORTH_MERGING * size:
            return None
        merged = [step.merged(step.group_of(size))[0] for step in self.steps]
        return DeviceLineTarget(self.project, merged)

    def groups(self, size: int) -> tuple[DeviceGroups, list[Any], list[DeviceSteps]]:
        """Merge the thresholds of each view to at most ``size``; see `LineTarget.groups`."""
        import torch

        groups, shares, tables, coarse, start = [], [], [], [], 0
        for step in self.steps:
            group = step.group_of(size)
            steps, table = step.merged(group)
            groups.append(group + start)
            shares.append((step.weights / steps.weights[group]).sqrt())
            tables.append(table)
            coarse.append(steps)
            start += len(steps.weights)
        return DeviceGroups(torch.cat(groups), torch.cat(shares), start), tables, coarse


@dataclass(frozen=True)
class DeviceGroups:
    """Every row of R belongs to one group: `dual_newton.Groups` on a device."""

    group: Any  # (m,)
    share: Any  # (m,)
    count: int

    def gather(self, r: Any) -> Real:
        """P'r, on the host."""
        sums = r.new_zeros(self.count).index_add_(0, self.group, self.share * r)
        return np.asarray(to_numpy(sums), dtype=np.float64)

    def spread(self, z: Real) -> Any:
        """P z, on the device."""
        import torch

        return self.share * torch.as_tensor(z, device=self.share.device)[self.group]


class DeviceLineRows:
    """R of one-dimensional views: for each, its thresholds in order."""

    def __init__(self, steps: list[DeviceSteps], codes: list[Any]) -> None:
        self._steps, self._codes = steps, codes

    def matvec(self, v: Any) -> Any:
        """R v: (N,) -> (m,)."""
        import torch

        parts = []
        for step, code in zip(self._steps, self._codes, strict=True):
            bins = v.new_zeros(len(step.weights) + 1).index_add_(0, code, v)
            parts.append(step.weights.sqrt() * torch.cumsum(bins[:-1], 0))
        return torch.cat(parts)

    def rmatvec(self, z: Any) -> Any:
        """R' z: (m,) -> (N,)."""
        import torch

        total, start = z.new_zeros(len(self._codes[0])), 0
        for step, code in zip(self._steps, self._codes, strict=True):
            U = len(step.weights)
            table = z.new_zeros(U + 1)
            torch.cumsum((step.weights.sqrt() * z[start : start + U]).flip(0), 0, out=table[1:])
            total += table.flip(0)[code]
            start += U
        return total

    def regrouped(self, tables: list[Any], steps: list[DeviceSteps]) -> DeviceLineRows:
        """Read new codes from a table a view."""
        codes = [table[code] for table, code in zip(tables, self._codes, strict=True)]
        return DeviceLineRows(steps, codes)

    def cross_and_ones(self, free: Any) -> Real:
        """R_f R_f' and R_f 1 (m, m + 1) over the free rows, on the host; m is small."""
        import torch

        codes = [code[free] for code in self._codes]
        sizes = [len(step.weights) for step in self._steps]
        ends = np.cumsum([0, *sizes])
        cross = np.empty((ends[-1], ends[-1] + 1))
        roots = [to_numpy(step.weights.sqrt()) for step in self._steps]
        for a, size in enumerate(sizes):
            here = slice(ends[a], ends[a + 1])
            for b in range(a, len(sizes)):
                wide = sizes[b] + 1
                counts = torch.bincount(codes[a] * wide + codes[b], minlength=(size + 1) * wide)
                table = to_numpy(counts).reshape(-1, wide).cumsum(axis=0).cumsum(axis=1)
                other = slice(ends[b], ends[b + 1])
                if a == b:
                    cross[here, -1] = roots[a] * table[:-1, -1]
                cross[here, other] = table[:-1, :-1] * np.outer(roots[a], roots[b])
                cross[other, here] = cross[here, other].T
        return cross
