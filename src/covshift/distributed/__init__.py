"""Beyond one machine's memory: blocks from disk, and a Dask cluster.

The fit is the same everywhere: sums over blocks of rows, which are plain values, and one small
solve (theory, section 4.1). `fit_blocks` sums blocks one after another on one machine; `fit` sums
the partitions of Dask collections on a cluster.
"""

from .blocks import fit_blocks, from_arrays, from_parquet
from .dask import fit, predict

__all__ = ["fit", "fit_blocks", "from_arrays", "from_parquet", "predict"]
