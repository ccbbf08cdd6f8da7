"""Dask, behind a small door: partitions in, sums out, and errors that say where."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from ..exceptions import InputError, InputTypeError, SlowWarning, import_extra
from .reduce import Join, in_turn, named

_FAN_IN = 4  # partial sums that one task of the tree adds
_PATIENCE = 30  # seconds between two looks at the workers
_NO_WORKERS = (
    "The cluster has no workers, and the fit waits for some. Start them, or read the log of those "
    "that ended: often they lack a package, or a file that the partitions are read with."
)


def empty_frame(X: Any) -> Any:
    """Return a table without rows that has the columns of a Dask data frame."""
    return dask_module("dask.dataframe.utils").make_meta(X)


@dataclass(frozen=True)
class Partitions:
    """Parts of rows on a cluster, each a few delayed values, such as X, y and weights."""

    cluster: Cluster
    parts: list[tuple[Any, ...]]
    header: Any = None  # a table without rows that has the columns of X
    of: str = "X"

    def mapped(self, function: Callable[..., Any], *shared: Any, keep: bool = True) -> Partitions:
        """Apply ``function(*part, *shared)`` to every part; ``keep`` the results where they are."""
        found = self._each(function, shared)
        if keep:
            found = self.cluster.kept(found)
        return Partitions(self.cluster, [(value,) for value in found], of=self.of)

    def total(self, function: Callable[..., Any], *shared: Any, join: Join = in_turn) -> Any:
        """Join what ``function`` returns in a tree, and wait for the result."""
        return self.cluster.joined(self._each(function, shared), join)

    def least(self, function: Callable[..., float], *shared: Any) -> float:
        """Return the smallest result."""
        return float(self.total(function, *shared, join=min))

    def some(self, flags: Any) -> Partitions:
        """Keep some of the parts."""
        kept = [part for part, flag in zip(self.parts, flags, strict=True) if flag]
        return Partitions(self.cluster, kept, of=self.of)

    def _each(self, function: Callable[..., Any], shared: tuple[Any, ...]) -> list[Any]:
        """Delayed results; ``shared`` objects are in the graph once."""
        delayed = self.cluster.delayed
        given = [delayed(value, pure=False, traverse=False) for value in shared]
        task = delayed(partial(_of_part, function, self.of), pure=False)
        return [task(number, *part, *given) for number, part in enumerate(self.parts)]


def _of_part(function: Callable[..., Any], of: str, number: int, *given: Any) -> Any:
    with named(f"partition {number} of {of}"):
        return function(*given)


class Cluster:
    """A Dask client, or the local scheduler where there is none."""

    def __init__(self, client: Any = None) -> None:
        self.delayed = dask_module("dask").delayed
        self.client = client if client is not None else _current_client()

    def rows(self, X: Any, y: Any = None, weight: Any = None, *, of: str = "X") -> Partitions:
        """Line up the partitions of collections that have the same rows."""
        if not is_dask(X):
            raise InputTypeError(
                f"X is a {type(X).__name__}, not a Dask array or data frame. Turn it into one "
                "(dask.array.from_array), or use the estimator's own fit."
            )
        if len(X.shape) != 2:
            raise InputError(f"Expected 2D array, got {len(X.shape)}D array instead for X.")
        parts = partitions(X)
        others = [
            _aligned(other, X, len(parts), name)
            for other, name in ((y, "y"), (weight, "sample_weight"))
        ]
        is_frame = hasattr(X, "columns")
        header = empty_frame(X) if is_frame else np.empty((0, int(X.shape[1])), dtype=X.dtype)
        return Partitions(self, list(zip(parts, *others, strict=True)), header, of)

    def joined(self, parts: list[Any], join: Callable[[list[Any]], Any]) -> Any:
        """Join delayed values in a tree, and wait for the result."""
        node = self.delayed(join, pure=False)
        while len(parts) > 1:
            parts = [node(parts[k : k + _FAN_IN]) for k in range(0, len(parts), _FAN_IN)]
        return self.compute(node(parts))

    def kept(self, parts: list[Any]) -> list[Any]:
        """Compute delayed values and keep them where they are."""
        with self._told_when_lost():
            if self.client is not None:
                return list(self.client.persist(parts))
            return list(dask_module("dask").persist(*parts))

    def compute(self, value: Any) -> Any:
        """Wait for a delayed value."""
        with self._told_when_lost():
            if self.client is not None:
                return self._result(self.client.compute(value))
            return value.compute()

    def _result(self, future: Any) -> Any:
        """Wait for a future, and say so once where nobody works on it."""
        said = False
        while True:
            try:
                return future.result(timeout=_PATIENCE)
            except TimeoutError:
                if future.done():  # just now; or the error is the task's own
                    return future.result()
            if not said and not self.client.nthreads():
                said = True
                warnings.warn(_NO_WORKERS, SlowWarning, stacklevel=2)

    @contextmanager
    def _told_when_lost(self) -> Iterator[None]:
        if self.client is None:
            yield
            return
        if self.client.status not in ("running", "connecting"):
            raise RuntimeError(_lost(f"it is {self.client.status}"))
        distributed, comm = dask_module("distributed"), dask_module("distributed.comm")
        try:
            yield
        except distributed.KilledWorker as error:
            raise RuntimeError(
                f"A task brought down several workers ({error}). Most often a partition is too "
                "large for their memory: use smaller partitions, fewer landmarks or target_bins."
            ) from error
        except (CancelledError, comm.CommClosedError) as error:
            raise RuntimeError(_lost(str(error) or type(error).__name__)) from error
        except (TimeoutError, OSError) as error:
            if self.client.status == "running":  # of the task, as a file that is not there
                raise
            raise RuntimeError(_lost(str(error) or type(error).__name__)) from error


def _lost(reason: str) -> str:
    return (
        f"The Dask client lost its cluster in the middle of the fit ({reason}). Nothing was "
        "fitted. Connect a new Client to the scheduler and fit again."
    )


def dask_module(name: str) -> ModuleType:
    """Import a part of Dask, or say how to install it."""
    return import_extra(name, extra="dask", needed_by="covshift.distributed")


def is_dask(X: Any) -> bool:
    """Whether X is a Dask collection with partitions."""
    return hasattr(X, "to_delayed") and hasattr(X, "__dask_graph__")


def _current_client() -> Any:
    distributed = dask_module("distributed")
    try:
        return distributed.get_client()
    except ValueError:
        return None


def partitions(X: Any) -> list[Any]:
    """Return the partitions of a collection, each delayed.

    Those of a data frame are as many as it says: Dask's optimiser would join files of which few
    columns are read, others for y than for X. That no other columns are read is kept.
    """
    if hasattr(X, "rechunk"):
        if len(X.shape) == 2 and X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        return list(X.to_delayed().ravel())
    return list(X.simplify().to_delayed(optimize_graph=False))


def _aligned(other: Any, X: Any, count: int, name: str) -> list[Any]:
    if other is None:
        return [None] * count
    if not is_dask(other):
        raise InputTypeError(
            f"{name} is a {type(other).__name__}, but X is a Dask collection. Pass {name} as one "
            "too, in the same partitions (dask.array.from_array)."
        )
    if hasattr(X, "rechunk") and hasattr(other, "rechunk"):
        known = not any(np.isnan(size) for size in (*X.chunks[0], *other.chunks[0]))
        if known and sum(X.chunks[0]) != sum(other.chunks[0]):
            raise InputError(
                f"X has {sum(X.chunks[0])} rows, but {name} has {sum(other.chunks[0])}."
            )
        if known and X.chunks[0] != other.chunks[0]:
            other = other.rechunk({0: X.chunks[0]})
    parts = partitions(other)
    if len(parts) != count:
        raise InputError(
            f"X has {count} partitions, but {name} has {len(parts)}, and their lengths are not "
            f"known. Take {name} from the same data frame as X, as a series (Dask may cut the "
            "array in its .values otherwise), or repartition both in the same way."
        )
    return parts
