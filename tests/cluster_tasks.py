"""Samples for fits on a cluster, and the tasks that its workers run.

Workers import this file by its own name: other packages ship a folder ``tests`` as well.
"""

from __future__ import annotations

import time
import uuid

import dask.array as da
import numpy as np

from covshift import VSVR, Kernel

rng = np.random.default_rng(0)
N, M, n = 1500, 120, 3
X = rng.normal(size=(N, n))
T = rng.normal(0.4, 1.0, size=(M, n))
y = np.sin(X[:, 0]) + X[:, 1] + rng.normal(size=N)
labels = (y > 0).astype(int)
w = rng.integers(0, 3, N).astype(float)


def machine(kind=VSVR, **parameters):
    """One kernel by name, so that the sums alone are compared, and quickly."""
    fixed = {"kernel": Kernel("rbf", width="scale", coordinates="none")}
    return kind(
        **{"correction": "blended", "n_components": 40, "random_state": 0, **fixed, **parameters}
    )


def parts(array, chunks):
    """A Dask array with these chunks, empty ones among them."""
    return da.from_array(array, chunks=(tuple(chunks), *((k,) for k in array.shape[1:])))


def slow(block, folder):
    """Leave a file in the folder, which says that a block is being read, and take a while."""
    (folder / uuid.uuid4().hex).touch()
    time.sleep(0.15)
    return block


def with_mask(block):
    """Mask some numbers, which a fit must not see."""
    return np.ma.masked_less(block, -2.0)


def unreadable(block):
    """Fail as a file does that is gone."""
    raise FileNotFoundError("part 4 is not there")
