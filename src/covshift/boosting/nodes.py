"""What a tree is made of: how far it grows, its nodes while it does, and the finished one."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .._types import Real, Rows

NOISE = 1e-12  # of the loss: a gain below it is rounding


@dataclass(frozen=True)
class Growth:
    """How far a tree grows, and its penalties."""

    max_leaf_nodes: int
    max_depth: int | None
    min_samples_leaf: float
    reg_lambda: float
    reg_leaves: float


@dataclass
class Tree:
    """Nodes as arrays; a leaf has left = -1. Rows go left where their bin is at most ``bin``."""

    feature: NDArray[np.int32]
    bin: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: Real
    gain: Real
    leaf: Rows  # of every training row, the node where it ends


@dataclass
class Nodes:
    """The nodes of a tree while it grows."""

    feature: list[int] = field(default_factory=lambda: [-1])
    bin: list[int] = field(default_factory=lambda: [0])
    left: list[int] = field(default_factory=lambda: [-1])
    right: list[int] = field(default_factory=lambda: [-1])
    gain: list[float] = field(default_factory=lambda: [0.0])

    def split(self, node: int, k: int, b: int, gain: float) -> tuple[int, int]:
        """Give a node two children, and return them."""
        left = len(self.feature)
        self.feature[node], self.bin[node], self.gain[node] = k, b, gain
        self.left[node], self.right[node] = left, left + 1
        for values, nothing in ((self.feature, -1), (self.bin, 0), (self.left, -1)):
            values += [nothing, nothing]
        self.right += [-1, -1]
        self.gain += [0.0, 0.0]
        return left, left + 1

    def tree(self, w: Real, nodes: Rows, leaf: Rows) -> Tree:
        """Lay out the tree, with the values of its leaves, which are ``nodes`` (T,)."""
        value = np.zeros(len(self.feature))
        value[nodes] = w
        feature, bins, left, right = (
            np.array(values, dtype=np.int32)
            for values in (self.feature, self.bin, self.left, self.right)
        )
        return Tree(feature, bins, left, right, value, np.array(self.gain), nodes[leaf])
