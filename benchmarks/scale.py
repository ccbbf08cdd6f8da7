"""From a laptop to a cluster: what fits cost out of core, over workers, against N and M.

    python benchmarks/scale.py             the tables of results/scale.md (about half an hour)
    python benchmarks/scale.py --quick     small sizes, as the tests run it

Rows are made block by block from a seed and never stored. Each fit runs in a process of its own, so
that its peak memory is its own; the table states it beyond what importing the library takes.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from harness import RESULTS, machine, publish, table

FEATURES, SEED = 10, 0
BLOCK = 1 << 17
MOST_MEMORY = 8 << 30  # of a peer's process, in bytes
QUICK = False  # then everything runs in this process


def rows(count, seed):
    """Gaussian rows and an outcome."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((count, FEATURES))
    return X, np.sin(X[:, 0]) + X[:, 1] + rng.standard_normal(count)


def blocks(N, size=BLOCK):
    for number, start in enumerate(range(0, N, size)):
        yield rows(min(size, N - start), SEED + 1 + number)


def target(M):
    return rows(M, SEED)[0] + 0.3


def model(kind="VSVR", D=300, reg=1.0, correction="additive"):
    import covshift

    return getattr(covshift, kind)(
        correction,
        kernel=covshift.Kernel("rbf", width=5**0.5, coordinates="none"),
        reg=reg,
        n_components=D,
        random_state=0,
        solver="primal",
    )


# Jobs: each runs in a process of its own and prints a line of JSON


def job_blocks(N, M, D, correction="additive", reg=1.0, target_bins=None):
    from covshift.distributed import fit_blocks

    estimator = model(D=D, reg=reg, correction=correction)
    T = target(M)
    return lambda: fit_blocks(estimator, lambda: blocks(N), T, target_bins=target_bins)


def job_read(N):
    """Only make the rows, as often as a fit reads them."""
    return lambda: [X.shape for _ in range(2) for X, _ in blocks(N)]


def job_peer(N, D):
    """Nystroem features of all rows at once, and Ridge."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    X, y = (np.concatenate(part) for part in zip(*blocks(N), strict=True))
    peer = make_pipeline(Nystroem(kernel="rbf", gamma=0.1, n_components=D, random_state=0), Ridge())
    return lambda: peer.fit(X, y)


def job_kernel_ridge(N):
    from sklearn.kernel_ridge import KernelRidge

    X, y = (np.concatenate(part) for part in zip(*blocks(N), strict=True))
    return lambda: KernelRidge(kernel="rbf", gamma=0.1).fit(X, y)


def job_weights(N, M, views="additive"):
    from covshift.weights import CDFWeights

    X, _ = (np.concatenate(part) for part in zip(*blocks(N), strict=True))
    T = target(M)
    return lambda: CDFWeights(views, random_state=0).fit(X, X_target=T)


def job_kmm(N, M):
    from covshift.weights import KMM

    X, _ = (np.concatenate(part) for part in zip(*blocks(N), strict=True))
    T = target(M)
    return lambda: KMM().fit(X, X_target=T)


JOBS = {name.removeprefix("job_"): work for name, work in globals().items() if name[:4] == "job_"}


def run_job(name, options):
    """Prepare, then time the work and its peak memory."""
    work = JOBS[name](**options)
    before = _peak()
    start, cpu = time.perf_counter(), time.process_time()
    work()
    return {
        "s": time.perf_counter() - start,
        "cpu": time.process_time() - cpu,
        "before": before,
        "peak": _peak(),
    }


def _peak():
    """Peak memory of this process in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage says there begins with the peak of the parent
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text(encoding="utf-8"))
        return int(found[1]) / 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 1024)


def environment_paths():
    return os.environ.get("PYTHONPATH", "").split(os.pathsep)


def measure(name, limit=None, memory=None, **options):
    """Run a job in its own process; None where it takes too long or too much memory."""
    if QUICK:
        return run_job(name, options)
    code = f"import json, scale; print(json.dumps(scale.run_job({name!r}, {options!r})))"
    paths = [str(Path(__file__).parent), *filter(None, environment_paths())]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, paths))}

    def restrict():
        import resource

        if memory is not None:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    try:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code],
            capture_output=True,
            text=True,
            timeout=limit,
            env=environment,
            preexec_fn=restrict if memory is not None else None,
        )
    except subprocess.TimeoutExpired:
        return None
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None


# Tables


def out_of_core(sizes, M, D):
    lines, first = [], None
    for N in sizes:
        for correction, reg in (("additive", 1.0), ("blended", "cv")):
            found = measure("blocks", N=N, M=M, D=D, correction=correction, reg=reg)
            read = measure("read", N=N)
            if found is None:
                lines.append([f"{N:,}", correction, reg, "failed", "", "", ""])
                continue
            rate = 1e6 * found["s"] / N
            first = first or rate
            lines.append(
                [
                    f"{N:,}",
                    correction,
                    reg,
                    f"{found['s']:.1f}",
                    f"{read['s']:.1f}",
                    f"{rate:.2f}",
                    f"{found['peak'] - found['before']:.0f}",
                ]
            )
    header = [
        "N",
        "correction",
        "penalty",
        "fit s",
        "of which making rows s",
        "s a million rows",
        "memory beyond the start MB",
    ]
    return table(header, lines)


def against_targets(N, targets, D):
    lines = []
    for M in targets:
        row = [f"{M:,}"]
        for correction in ("additive", "multiplicative"):
            # Bins of 10^5 thresholds in ten features would take gigabytes: hence target_bins.
            large = M > 10_000 or (correction == "multiplicative" and M * N > 2e9)
            found = None if large else measure("blocks", N=N, M=M, D=D, correction=correction)
            row += (
                ["", ""]
                if found is None
                else [f"{found['s']:.1f}", f"{found['peak'] - found['before']:.0f}"]
            )
        found = measure("blocks", N=N, M=M, D=D, target_bins=500)
        row += [f"{found['s']:.1f}", f"{found['peak'] - found['before']:.0f}"]
        lines.append(row)
    header = ["M", "additive s", "MB", "multiplicative s", "MB", "target_bins=500 s", "MB"]
    return table(header, lines)


def reduced(N, M, D, sizes):
    """How far quantile points move the target's distribution functions and the predictions."""
    from covshift.distributed import fit_blocks
    from covshift.distributed.target import margins

    T = target(M)
    exact = fit_blocks(model(D=D), lambda: blocks(N), T)
    at = target(1000)
    lines = []
    for bins in sizes:
        found = margins([(part, None) for part in np.array_split(T, 7)], bins)
        points = np.sort(found.points(), axis=0)
        gap = max(
            np.abs(
                np.searchsorted(np.sort(T[:, k]), grid, "right") / M
                - np.searchsorted(points[:, k], grid, "right") / bins
            ).max()
            for k in range(FEATURES)
            for grid in [np.sort(T[:, k])]
        )
        ours = fit_blocks(model(D=D), lambda: blocks(N), T, target_bins=bins)
        moved = np.abs(ours.predict(at) - exact.predict(at)).max()
        lines.append([bins, f"{gap:.5f}", f"{1 / bins:.5f}", f"{moved:.1e}"])
    header = ["target_bins", "largest move of a distribution function", "bound", "of a prediction"]
    return table(header, lines)


def workers(N, M, D, counts, partitions):
    """One fit on a local cluster; and the parts of which a larger cluster's time is made."""
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster

    from covshift import distributed

    size = N // partitions
    lines, base = [], None
    X = da.concatenate(
        [
            da.from_delayed(dask.delayed(part)(size, k, 0), (size, FEATURES), float)
            for k in range(partitions)
        ]
    )
    y = da.concatenate(
        [da.from_delayed(dask.delayed(part)(size, k, 1), (size,), float) for k in range(partitions)]
    )
    for count in counts:
        with (
            LocalCluster(
                n_workers=count, threads_per_worker=1, dashboard_address=None, memory_limit=None
            ) as cluster,
            Client(cluster) as client,
        ):
            client.run(_one_thread)
            distributed.fit(model(D=D), X[: 2 * size], y[: 2 * size], target(M), client)  # warm up
            start = time.perf_counter()
            distributed.fit(model(D=D), X, y, target(M), client)
            seconds = time.perf_counter() - start
        base = base or seconds
        lines.append([count, f"{seconds:.1f}", f"{base / seconds:.2f}"])
    return table(["workers", "s", "speed-up"], lines)


def part(count, number, which):
    return rows(count, SEED + 1 + number)[which]


def _one_thread():
    from threadpoolctl import threadpool_limits

    os.environ["OMP_NUM_THREADS"] = "1"
    threadpool_limits(1)


def scheduler_time(count=2000):
    """Seconds that the scheduler of a local cluster takes for a task that does nothing."""
    import dask
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        tasks = [dask.delayed(abs)(k, dask_key_name=f"nothing-{k}") for k in range(count)]
        start = time.perf_counter()
        client.gather(client.compute(tasks))
        return (time.perf_counter() - start) / count


def model_on_paper(N, M, D, counts, task_s, bandwidth=1e9, latency=2e-3):
    """Time of a fit on many workers, from measured parts on one core."""
    import pickle

    from covshift.machine.blocks import BlockFit
    from covshift.machine.primal import combine

    size = 100_000 if N >= 10**6 else N // 10
    X, y = rows(size, 1)
    T = target(M)
    fit = BlockFit(model(D=D), X, T, np.full(M, 1 / M), narrow=False)

    def timed(work):
        start = time.perf_counter()
        value = work()
        return time.perf_counter() - start, value

    survey_s, survey = timed(lambda: fit.survey(fit.read(X, y)))
    primal = fit.prepare(survey, T, np.full(M, 1 / M))
    sums_s, sums = timed(lambda: fit.partial(primal, fit.read(X, y)))
    add_s, _ = timed(lambda: combine(sums, sums))
    solve_s, _ = timed(lambda: fit.finish(primal, sums))
    bytes_ = len(pickle.dumps(sums))
    parts = 10**9 // size
    lines = []
    for count in counts:
        tasks = -(-parts // count)
        levels = int(np.ceil(np.log(max(2, parts)) / np.log(4)))
        # Each worker first adds up its own partitions' sums; the tree above them crosses the net.
        tree = levels * (4 * bytes_ / bandwidth + 3 * add_s + latency)
        own = tasks / 3 * add_s
        scheduler = 3 * parts * task_s  # two passes, and their trees
        work = tasks * (survey_s + sums_s) + own
        total = max(work, scheduler) + tree + solve_s
        lines.append(
            [
                count,
                f"{work:.0f}",
                f"{tree:.2f}",
                f"{scheduler:.0f}",
                f"{solve_s:.2f}",
                f"{total:.0f}",
            ]
        )
    measured = (
        f"Measured on one core with partitions of {size:,} rows: survey {survey_s:.2f} s, sums "
        f"{sums_s:.2f} s, adding two partial sums {1e3 * add_s:.1f} ms, solve {solve_s:.2f} s; a "
        f"partial sum has {bytes_ / 2**20:.1f} MB. The scheduler takes {1e3 * task_s:.2f} ms a task"
        f" (measured on a local cluster). Assumed: {bandwidth / 1e9:.0f} GB/s a worker, "
        f"{1e3 * latency:.0f} ms a hop. The scheduler's time overlaps with the workers'."
    )
    header = ["workers", "work s", "tree s", "scheduler s", "solve s", "N = 1e9: s"]
    return measured + "\n\n" + table(header, lines)


def peers(N_small, N_large, M, limit):
    """Where others stop on the same work: measured where it can be, computed beyond."""
    lines = [
        ["N x N kernel (KernelRidge, exact KMM)", "8 N^2", f"{8 * N_large**2 / 2**40:,.0f} TiB"],
        [
            "N x M kernel (KMM, density ratios by kernels)",
            "8 N M",
            f"{8 * N_large * M / 2**30:,.0f} GiB",
        ],
        [
            "N x D features at once (Nystroem + Ridge), D = 300",
            "8 N D",
            f"{8 * N_large * 300 / 2**30:,.0f} GiB",
        ],
        ["ours, from blocks", "independent of N", "see above"],
    ]
    computed = table(["holds in memory", "bytes", f"at N = {N_large:,}, M = {M:,}"], lines)
    found = []
    for name, job, options in (
        ("KernelRidge", "kernel_ridge", {}),
        ("KMM (ours, dense as in the literature)", "kmm", {"M": M}),
        ("Nystroem + Ridge", "peer", {"D": 300}),
        ("CDFWeights, additive", "weights", {"M": M}),
        ("VSVR from blocks", "blocks", {"M": M, "D": 300}),
    ):
        for N in N_small:
            done = measure(job, limit=limit, memory=MOST_MEMORY, N=N, **options)
            if done is None:
                found.append(
                    [name, f"{N:,}", f"stopped: over {limit} s or {MOST_MEMORY >> 30} GiB", ""]
                )
                break
            found.append(
                [name, f"{N:,}", f"{done['s']:.1f}", f"{done['peak'] - done['before']:.0f}"]
            )
    measured = table(["method", "N", "s", "memory MB"], found)
    return computed + "\n\n" + measured


GPU_ROWS, GPU_LANDMARKS = 10**7, 1000  # of results/gpu.md


def against_gpu(N, M):
    """Fits with as many landmarks as results/gpu.md has, here and there, by the million rows."""
    path = RESULTS / "gpu.md"
    if not path.exists():
        return "Not measured yet: `python benchmarks/gpu.py --output benchmarks/results/gpu.md`."
    text = path.read_text(encoding="utf-8")
    card = re.search(r"Machine: ([^,]*), torch", text)
    lines = []
    for correction in ("additive", "multiplicative"):
        here = 1e6 / N * measure("blocks", N=N, M=M, D=GPU_LANDMARKS, correction=correction)["s"]
        for precision in ("float64", "float32"):
            pattern = rf"\| {correction} \| 1.0 \| {precision} \| ([0-9.]+) "
            there = 1e6 / GPU_ROWS * float(re.search(pattern, text)[1])
            lines.append(
                [correction, f"{here:.1f}", precision, f"{there:.3f}", f"{here / there:.0f}"]
            )
    header = ["correction", "here, from blocks: s", "precision there", "GPU: s", "ratio"]
    return (
        f"One {card[1]}, from [gpu.md](gpu.md), rows in its memory; seconds a million rows, "
        f"{GPU_LANDMARKS:,} landmarks, M = {M:,}, fixed penalty.\n\n" + table(header, lines)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, nothing written")
    parser.add_argument("--largest", type=int, default=10**7, help="rows of the largest fit")
    args = parser.parse_args()
    global QUICK
    QUICK = quick = args.quick
    M, D = (50, 20) if quick else (1000, 300)
    sizes = [2000] if quick else [N for N in (10**5, 10**6, 10**7) if N <= args.largest]
    largest = sizes[-1]
    sections = [
        f"n = {FEATURES}, M = {M:,}, {D} landmarks, seed {SEED}, blocks of {BLOCK:,} rows.",
        f"Machine: {machine(('numpy', 'scikit-learn', 'dask', 'distributed', 'covshift'))}.",
        "## Out of core, on one machine",
        out_of_core(sizes, M, D),
        f"## Against the size of the target, N = {sizes[0]:,}",
        against_targets(sizes[0], [50, 100] if quick else [100, 1000, 10_000, 100_000], D),
        "## The target reduced to quantiles",
        reduced(sizes[0], 500 if quick else 100_000, D, [10, 100] if quick else [10, 100, 1000]),
    ]
    if not quick:
        sections += [
            f"## Workers, N = {10**6:,}",
            workers(10**6, M, D, [1, 2], 20),
        ]
    sections += [
        "## Many workers, on paper",
        model_on_paper(largest, M, D, [1, 16, 64, 256, 1000], 1e-3 if quick else scheduler_time()),
        "## Others' limits",
        peers([300] if quick else [3000, 10_000, 10**5, 10**6], 10**7, M, 60 if quick else 180),
        "## Against one GPU",
        against_gpu(2000 if quick else 10**6, M),
        "Command: `python benchmarks/scale.py`.",
    ]
    publish("scale", "From a laptop to a cluster", *sections, write=not quick)


if __name__ == "__main__":
    main()
