"""Run trials in processes. The numbers depend on the trial alone, not on who computes it when.

Every trial draws from its own seed, and BLAS has one thread in every process, so that sums are
formed in the same order. The parent writes each finished trial at once. Workers end with their
parent, however it ends.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from functools import partial
from typing import Any

from threadpoolctl import threadpool_limits

from covshift.numerics.progress import Progress

from . import experiment_1, experiment_2, experiment_3, experiment_4, experiment_5, robustness
from .configuration import Job, Key, Settings
from .store import Store

RUN = {
    "1": experiment_1.run,
    "2": experiment_2.run,
    "3": experiment_3.run,
    "4": experiment_4.run,
    "5": experiment_5.run,
    "robustness": robustness.run,
}
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def run_job(job: Job, settings: Settings) -> dict[str, Any]:
    """Run one trial in this process, on one thread."""
    with one_thread(), threadpool_limits(1):
        return RUN[job.key.experiment](job, settings)


def run_jobs(
    jobs: list[Job], settings: Settings, store: Store, processes: int, *, quiet: bool = False
) -> dict[Key, Exception]:
    """Run all jobs and keep each result as soon as it is there; return the trials that failed.

    A trial that fails does not stop the others; the next run tries it again.
    """
    failed: dict[Key, Exception] = {}
    with Progress(len(jobs), "trials", verbose=not quiet, log=True) as progress:

        def keep(job: Job, result: Callable[[], dict[str, Any]]) -> None:
            try:
                store.append(job.key, result())
            except Exception as error:
                failed[job.key] = error
            progress.step(f"{job.key.experiment} {job.key.cell}")

        _run_each(jobs, settings, processes, keep)
    return failed


def _run_each(
    jobs: list[Job],
    settings: Settings,
    processes: int,
    keep: Callable[[Job, Callable[[], dict[str, Any]]], None],
) -> None:
    if processes == 1 or len(jobs) < 2:
        for job in jobs:
            keep(job, partial(run_job, job, settings))
        return
    context = multiprocessing.get_context("spawn")
    with (
        one_thread(),  # before the workers start: they read it when they load BLAS
        ProcessPoolExecutor(processes, mp_context=context, initializer=_start_worker) as pool,
    ):
        running = {pool.submit(run_job, job, settings): job for job in jobs}
        try:
            for future in as_completed(running):
                keep(running.pop(future), future.result)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@contextmanager
def one_thread() -> Iterator[None]:
    """Ask the numerical libraries for one thread, here and in processes started meanwhile."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _start_worker() -> None:
    """Leave Ctrl-C to the parent, and end when it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
