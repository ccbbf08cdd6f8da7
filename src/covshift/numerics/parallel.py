"""Threads over rows, for NumPy code that leaves the interpreter free while it computes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from itertools import pairwise
from typing import Any

_inside = threading.local()
_WORTH_THREADS = 1 << 22  # numbers in a matrix; of fewer a second thread saves nothing


def thread_count() -> int:
    """Cores that this process may use; OMP_NUM_THREADS sets a limit, as it does for BLAS."""
    available = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(available, int(limit))) if limit.isdigit() else available


def over_rows(work: Callable[[slice], None], n_rows: int, *, at_least: int = 1) -> None:
    """Call ``work`` on consecutive ranges of rows, one per thread, each of ``at_least`` rows.

    The ranges depend on the number of threads alone. The calling thread takes the first of them,
    which saves most of the waiting. Called from inside such work, it takes them all. While several
    threads work, each call of BLAS has one: its threads and ours would wait for each other.
    """
    n_parts = max(1, n_rows // max(1, at_least))
    if n_parts > 1:
        n_parts = 1 if getattr(_inside, "busy", False) else min(n_parts, thread_count())
    edges = [n_rows * part // n_parts for part in range(n_parts + 1)]
    ranges = [slice(*pair) for pair in pairwise(edges)]
    if n_parts == 1:
        work(ranges[0])
        return
    with _blas_limit:
        # In a copy of the caller's context: what it ignores, its threads ignore.
        pool = _pool(thread_count() - 1)
        others = [pool.submit(copy_context().run, work, rows) for rows in ranges[1:]]
        try:
            with _busy():
                work(ranges[0])
        finally:
            wait(others)
    for other in others:
        other.result()  # or its error


@cache
def _pool(n_threads: int) -> ThreadPoolExecutor:
    """Threads that wait for work: making new ones takes as long as much of it.

    The standard library's pool takes 0.15 ms to share out work, one of our own took half of that:
    with milliseconds of work on each side, which callers ask for by ``at_least``, it does not show.
    """
    return ThreadPoolExecutor(n_threads, "covshift", initializer=_stay_busy)


if hasattr(os, "register_at_fork"):  # a forked process has none of its parent's threads
    os.register_at_fork(after_in_child=_pool.cache_clear)


def _stay_busy() -> None:
    _inside.busy = True


@contextmanager
def _busy() -> Iterator[None]:
    _inside.busy = True
    try:
        yield
    finally:
        _inside.busy = False


class _BlasLimit:
    """Keep BLAS and LAPACK to one thread, for as long as anybody is inside.

    The number of threads is one number for the whole process. The first to enter sets it and the
    last to leave restores it: limits that overlap in several threads would else restore each
    other's.
    """

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._before: list[int] = []  # threads of every library

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._before = [library.num_threads for library in _blas()]
                for library in _blas():
                    _set_threads(library, 1)
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                for library, before in zip(_blas(), self._before, strict=True):
                    _set_threads(library, before)


def _set_threads(library: Any, count: int) -> None:
    if hasattr(library, "clear_controlling_thread"):  # else only one thread may set it
        library.clear_controlling_thread(force=True)
    library.set_num_threads(count)


_blas_limit = _BlasLimit()


@contextmanager
def one_blas_thread(n_numbers: int) -> Iterator[None]:
    """Keep BLAS and LAPACK to one thread where the arrays hold fewer than about four million.

    On small matrices a second thread saves nothing, and on a busy machine waiting for it can take
    thirty times as long as the work. Entering costs 0.02 ms, inside of another such block nothing.
    ``@one_blas_thread(0)`` keeps a whole function to one: sums over rows gain nothing either.
    """
    if n_numbers >= _WORTH_THREADS:
        yield
        return
    with _blas_limit:
        yield


@cache
def _blas() -> list[Any]:
    """Return the BLAS libraries of this process."""
    import scipy.linalg  # noqa: F401  a library that is loaded later would not be found
    from threadpoolctl import ThreadpoolController  # comes with scikit-learn

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


@contextmanager
def one_thread(n_rows: int, *, worth: int = 20_000) -> Iterator[None]:
    """Keep other libraries' threads (BLAS, OpenMP) to one on fewer than ``worth`` rows.

    Boosted trees on a thousand rows gain nothing from a second thread, and lose much where another
    process wants the core.
    """
    if n_rows >= worth:
        yield
        return
    from threadpoolctl import ThreadpoolController

    # Only what is selected is restored; of OpenMP every thread has a number of its own.
    with _blas_limit, ThreadpoolController().select(user_api="openmp").limit(limits=1):
        yield
