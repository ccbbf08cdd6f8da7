"""From a laptop to a cluster: what fits cost out of core, over workers, against N and M.

Rows are made block by block from a seed and never stored. Each fit runs in a process of its own, so
that its peak memory is its own; the table states it beyond what importing the library takes.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from harness import RESULTS, ROOT, Work, main, table

TITLE = "From a laptop to a cluster, and growth with the number of rows"
FEATURES, SEED = 10, 0
BLOCK = 1 << 17
LIMIT, MOST_MEMORY = 180, 8 << 30  # of a peer's process, in seconds and bytes


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


def measure(name, limited, *pairs):
    """Run a job in its own process; None where it takes too long or too much memory.

    A name that begins with "here" is run in this process: of the tests.
    """
    options = dict(pairs)
    if name.startswith("here "):
        return run_job(name.removeprefix("here "), options)
    limit, memory = (LIMIT, MOST_MEMORY) if limited else (None, None)
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


def reduced(N, M, D, bins):
    """How far quantile points move the target's distribution functions and the predictions."""
    from covshift.distributed import fit_blocks
    from covshift.distributed.reduce import Blocks
    from covshift.distributed.target import margins

    T = target(M)
    exact = fit_blocks(model(D=D), lambda: blocks(N), T)
    at = target(1000)
    found = margins(Blocks(lambda: [(part, None) for part in np.array_split(T, 7)]), bins)
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
    return [bins, f"{gap:.5f}", f"{1 / bins:.5f}", f"{moved:.1e}"]


def workers(N, M, D, partitions, *counts):
    """One fit on a local cluster; and the parts of which a larger cluster's time is made."""
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster

    from covshift import distributed

    size = N // partitions
    lines = []
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
        lines.append([count, seconds])
    return lines


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


def model_on_paper(N, M, D, measured_tasks, *counts, bandwidth=1e9, latency=2e-3):
    """Time of a fit on many workers, from measured parts on one core."""
    task_s = scheduler_time() if measured_tasks else 1e-3
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


def limits(N, M):
    """Memory that others need, computed."""
    lines = [
        ["N x N kernel (KernelRidge, exact KMM)", "8 N^2", f"{8 * N**2 / 2**40:,.0f} TiB"],
        ["N x M kernel (KMM, density ratios by kernels)", "8 N M", f"{8 * N * M / 2**30:,.0f} GiB"],
        [
            "N x D features at once (Nystroem + Ridge), D = 300",
            "8 N D",
            f"{8 * N * 300 / 2**30:,.0f} GiB",
        ],
        ["ours, from blocks", "independent of N", "see above"],
    ]
    return table(["holds in memory", "bytes", f"at N = {N:,}, M = {M:,}"], lines)


GROWTH = {  # name: job, whether it is limited, its options
    "VSVR, additive, from blocks": ("blocks", False, (("M", 1000), ("D", 300))),
    "VSVR, blended, tuned, from blocks": (
        "blocks",
        False,
        (("M", 1000), ("D", 300), ("correction", "blended"), ("reg", "cv")),
    ),
    "CDFWeights, additive": ("weights", True, (("M", 1000),)),
    "Nystroem + Ridge": ("peer", True, (("D", 300),)),
    "KernelRidge": ("kernel_ridge", True, ()),
    "KMM, dense as in the literature": ("kmm", True, (("M", 1000),)),
}
SIZES, CORES = (10**4, 10**5, 10**6, 10**7), (1, 16, 64, 256, 1000)
TARGETS, BINS, LANDMARKS = (100, 1000, 10_000, 100_000), (10, 100, 1000), 1000


def against_targets(M, N, D):
    """Seconds and memory by the size of the target: additive, multiplicative, reduced."""
    row = [f"{M:,}"]
    for correction in ("additive", "multiplicative"):
        # Bins of 10^5 thresholds in ten features would take gigabytes: hence target_bins.
        large = M > 10_000 or (correction == "multiplicative" and M * N > 2e9)
        pairs = (("N", N), ("M", M), ("D", D), ("correction", correction))
        row += ["", ""] if large else _cells(measure("blocks", False, *pairs))
    return row + _cells(
        measure("blocks", False, ("N", N), ("M", M), ("D", D), ("target_bins", 500))
    )


def _cells(found):
    return [f"{found['s']:.1f}", f"{found['peak'] - found['before']:.0f}"]


def works(share, quick):
    """Growth of every method, the target, workers, others' limits, a GPU beside it."""
    del share  # times are taken once
    if quick:
        few = (("N", 400), ("M", 20), ("D", 20))
        return [
            Work("growth", measure, [("here blocks", False, *few), ("here peer", True, *few[::2])]),
            Work("reduced", reduced, [(2000, 500, 20, 10)]),
            Work("paper", model_on_paper, [(2000, 50, 20, False, 1, 16)]),
        ]
    # A method that is stopped at a size is not tried at the next: kernels of 10^5 rows are.
    most = {"CDFWeights, additive": 10**6, "KernelRidge": 10**5}
    most["KMM, dense as in the literature"] = 10**5
    growth = [
        (job, limited, ("N", N), *pairs)
        for name, (job, limited, pairs) in GROWTH.items()
        for N in SIZES
        if most.get(name, N) >= N
    ]
    gpu = [
        ("blocks", False, ("N", 10**6), ("M", 1000), ("D", LANDMARKS), ("correction", view))
        for view in ("additive", "multiplicative")
    ]
    dask = ("dask", "distributed")
    return [
        Work("growth", measure, growth, 30.0, True),
        Work("reading", measure, [("read", False, ("N", N)) for N in SIZES], 3.0, True),
        Work("targets", against_targets, [(M, 10**5, 300) for M in TARGETS], 8.0, True),
        Work("reduced", reduced, [(10**5, 10**5, 300, bins) for bins in BINS], 6.0, True),
        Work("workers", workers, [(10**6, 1000, 300, 20, 1, 2)], 60.0, True, dask),
        Work("paper", model_on_paper, [(10**7, 1000, 300, True, *CORES)], 40.0, True, dask),
        Work("beside a GPU", measure, gpu, 60.0, True),
    ]


def growth_table(found):
    """Seconds and memory by method and size, and how the time grows."""
    by_job = {(job[0], job[1], *job[3:]): {} for job, _ in found}
    for job, line in found:
        by_job[job[0], job[1], *job[3:]][job[2][1]] = line
    sizes = sorted({job[2][1] for job, _ in found})
    rows = []
    names = {(job, limited, *pairs): name for name, (job, limited, pairs) in GROWTH.items()}
    for key, lines in by_job.items():
        done = {N: line for N, line in lines.items() if line is not None}
        cells = [
            f"{done[N]['s']:.2f} s, {done[N]['peak'] - done[N]['before']:,.0f} MB"
            if N in done
            else "stops"
            for N in sizes
        ]
        slope = np.nan
        if len(done) > 1:
            slope = np.polyfit(np.log(list(done)), np.log([one["s"] for one in done.values()]), 1)[
                0
            ]
        rows.append([names.get(key, key[0]), *cells, f"{slope:.2f}"])
    return table(["method", *(f"N = {N:,}" for N in sizes), "exponent of time"], rows)


def against_gpu(found):
    """Fits with as many landmarks as results/gpu.md has, here and there, by the million rows."""
    path = RESULTS / "gpu.md"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = []
    for job, line in found:
        view = dict(job[2:])["correction"]
        for precision in ("float64", "float32"):
            match = re.search(rf"\| {view} \| 1.0 \| {precision} \| ([0-9.]+) ", text)
            if match:
                there = float(match[1]) / 10
                ratio = f"{line['s'] / there:.0f}"
                lines.append([view, f"{line['s']:.1f}", precision, f"{there:.3f}", ratio])
    header = ["correction", "here, from blocks: s", "precision there", "GPU: s", "ratio"]
    return table(header, lines)


def report(found):
    """Return all tables."""
    sections = [
        f"n = {FEATURES}, M = 1,000, 300 landmarks, seed {SEED}, blocks of {BLOCK:,} rows.",
        "## Growth with the number of rows",
        f"Others stop where they need over {MOST_MEMORY >> 30} GiB or {LIMIT} s. Times "
        "include making the rows, twice for fits from blocks; memory is beyond that of the start.",
        growth_table(found["growth"]),
        "![Seconds for one fit against training rows](../../docs/_static/growth.png)",
    ]
    if "targets" in found:
        made = "; ".join(f"{job[2][1]:,}: {line['s']:.1f} s" for job, line in found["reading"])
        header = ["M", "additive s", "MB", "multiplicative s", "MB", "target_bins=500 s", "MB"]
        sections += [
            f"Making the rows twice takes {made}.",
            "## Against the size of the target, N = 100,000",
            table(header, [line for _, line in found["targets"]]),
        ]
    header = ["target_bins", "largest move of a distribution function", "bound", "of a prediction"]
    sections += [
        "## The target reduced to quantiles",
        table(header, [line for _, line in found["reduced"]]),
    ]
    if "workers" in found:
        lines = found["workers"][0][1]
        rows = [[k, f"{seconds:.1f}", f"{lines[0][1] / seconds:.2f}"] for k, seconds in lines]
        sections += ["## Workers, N = 1,000,000", table(["workers", "s", "speed-up"], rows)]
    if "paper" in found:
        sections += ["## Many workers, on paper", found["paper"][0][1]]
    sections += ["## Others' limits", limits(10**7, 1000)]
    if "beside a GPU" in found:
        sections += [
            "## Against one GPU",
            f"From [gpu.md](gpu.md), rows in its memory; seconds a million rows, {LANDMARKS:,} "
            "landmarks, M = 1,000, fixed penalty.",
            against_gpu(found["beside a GPU"]),
        ]
        draw(found["growth"])
    return sections


def draw(found):
    """Time over rows, both on logarithmic scales, where matplotlib is."""
    if find_spec("matplotlib") is None:
        return
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.5, 4.6), layout="constrained")
    for name, (kind, limited, pairs) in GROWTH.items():
        points = [
            (job[2][1], line["s"])
            for job, line in found
            if (job[0], job[1], *job[3:]) == (kind, limited, *pairs) and line is not None
        ]
        style = "--s" if limited else "-o"
        (line,) = axes.loglog(*np.array(points).T, style, label=name, markersize=4)
        if limited:
            place = {"xytext": (6, 4), "textcoords": "offset points", "color": line.get_color()}
            axes.annotate("stops", points[-1], **place)
    axes.set(xlabel="training rows", ylabel="seconds for one fit")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=9)
    figure.savefig(ROOT / "docs" / "_static" / "growth.png", dpi=120)


if __name__ == "__main__":
    main(__file__)
