"""The fit on landmarks and the CDF weights on one GPU, through PyTorch.

Needs torch and array-api-compat. Variants of the heavy product R [Psi, 1, Y] (plain torch as it
would be written first, and the library's), their accuracy against float64, whole fits with VSVR, a
stream of rows that are never in memory together, and CDFWeights. Times are the best of several
runs, synchronised, after one run to warm up.
"""

from __future__ import annotations

import platform
import sys
import time
import traceback

import numpy as np
from harness import Work, main, table

try:
    import torch
except ImportError:  # the plain test environment
    torch = None

TITLE = "On one GPU"
SEED = 0
SIZES = {
    "N": 10**7, "M": 1000, "n": 10, "D": 1000, "block": 1 << 20, "repeats": 3,
    "stream": 10**8, "weights": 10**7, "accuracy": 1 << 18, "blocks": (1 << 18, 1 << 20),
}  # fmt: skip
TINY = {
    "N": 300, "M": 20, "n": 2, "D": 10, "block": 128, "repeats": 1,
    "stream": 600, "weights": 400, "accuracy": 300, "blocks": (128,),
}  # fmt: skip


class Setting:
    """Sizes, device, and rows generated there."""

    def __init__(self, sizes, device):
        self.N, self.M, self.n, self.D = (sizes[name] for name in ("N", "M", "n", "D"))
        self.block, self.repeats = sizes["block"], sizes["repeats"]
        self.device = torch.device(device)
        generator = torch.Generator(device=self.device).manual_seed(SEED)
        self.T = self.draw(self.M, generator) + 0.3
        self.Z = self.draw(self.D, generator)
        self.width = (self.n / 2) ** 0.5
        self.gamma = 1.0 / self.n  # 1 / (2 width^2)

    def draw(self, rows, generator=None):
        """Gaussian features of pairwise correlation 0.8: a target in four dominates a row."""
        common = torch.randn((rows, 1), device=self.device, generator=generator)
        own = torch.randn((rows, self.n), device=self.device, generator=generator)
        return 0.8**0.5 * common + 0.2**0.5 * own

    def rows(self, N=None, dtype=None):
        generator = torch.Generator(device=self.device).manual_seed(SEED + 1)
        X = self.draw(self.N if N is None else N, generator)
        y = torch.sin(X[:, 0]) + X[:, 1]
        return (X, y) if dtype is None else (X.to(dtype), y.to(dtype))

    def blocks(self, X, size=None):
        size = self.block if size is None else size
        return (slice(k, min(k + size, X.shape[0])) for k in range(0, X.shape[0], size))

    def sync(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def time(self, work, repeats=None):
        """Return the shortest time of several runs, in seconds, after one to warm up."""
        work()
        times = []
        for _ in range(self.repeats if repeats is None else repeats):
            self.sync()
            start = time.perf_counter()
            work()
            self.sync()
            times.append(time.perf_counter() - start)
        return min(times)

    def memory(self, work):
        if self.device.type != "cuda":
            return float("nan")
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        work()
        self.sync()
        return (torch.cuda.max_memory_allocated() - before) / 2**30


# The product, as one would write it first


def plain_features(s, X):
    return torch.exp(-s.gamma * torch.cdist(X, s.Z.to(X.dtype)) ** 2)


def columns(features, y):
    return torch.cat([features, torch.ones_like(y[:, None]), y[:, None]], dim=1)


def plain_multiplicative(s, X, y, size=None):
    T = s.T.to(X.dtype)
    total = torch.zeros((s.M, s.D + 2), dtype=torch.float64, device=s.device)
    for rows in s.blocks(X, size):
        A = columns(plain_features(s, X[rows]), y[rows])
        B = torch.ones((len(A), s.M), dtype=torch.bool, device=s.device)
        for k in range(s.n):
            B &= T[:, k][None, :] >= X[rows, k][:, None]
        total += (B.to(A.dtype).T @ A).double()
    return total


def plain_additive(s, X, y, size=None):
    T = s.T.to(X.dtype)
    thresholds = [torch.sort(T[:, k])[0] for k in range(s.n)]
    total = torch.zeros((s.n, s.M + 1, s.D + 2), dtype=X.dtype, device=s.device)
    for rows in s.blocks(X, size):
        A = columns(plain_features(s, X[rows]), y[rows])
        for k in range(s.n):
            code = torch.searchsorted(thresholds[k], X[rows, k].contiguous())
            total[k].index_add_(0, code, A)
    return total.double().reshape(-1, s.D + 2)


def sparse_additive(s, X, y, size=None):
    """Bin membership as a sparse matrix, by the vendor's sparse product."""
    thresholds = [torch.sort(s.T[:, k])[0] for k in range(s.n)]
    bins = s.n * (s.M + 1)
    total = torch.zeros((bins, s.D + 2), dtype=torch.float64, device=s.device)
    for rows in s.blocks(X, size):
        A = columns(plain_features(s, X[rows]), y[rows])
        joint = torch.stack(
            [
                torch.searchsorted(thresholds[k], X[rows, k].contiguous()) + k * (s.M + 1)
                for k in range(s.n)
            ]
        )
        ordered, order = torch.sort(joint, dim=1)
        starts = torch.searchsorted(ordered.reshape(-1), torch.arange(bins + 1, device=s.device))
        torch.sparse.check_sparse_tensor_invariants.disable()
        matrix = torch.sparse_csr_tensor(
            starts, order.reshape(-1), torch.ones(order.numel(), device=s.device), (bins, len(A))
        )
        total += (matrix @ A).double()
    return total


# The library's


def library_features(s, X):
    from covshift.numerics.device.kernels import features
    from covshift.numerics.kernels import NamedKernel

    return features(NamedKernel("rbf", s.width), s.Z.double().cpu().numpy(), X[:1].double())


def library_product(view):
    def work(s, X, y, size=None):
        from covshift.corrections import Additive, Multiplicative
        from covshift.operators import ViewsTargetSums

        views = {"additive": Additive, "multiplicative": Multiplicative}[view]().views(
            s.T.to(X.dtype), torch.full((s.M,), 1 / s.M, dtype=torch.float64, device=s.device)
        )
        sums = ViewsTargetSums(views, normalize=False, blend=0.0)
        features, total = library_features(s, X), None
        for rows in s.blocks(X, size):
            A = columns(features(X[rows].double()), y[rows].double())
            part = sums.sums(X[rows], A, torch.ones_like(y[rows]), rows).totals
            total = part if total is None else total.add_(part)
        return total

    return work


def tensor_float(work):
    def with_tf32(*args):
        before = torch.backends.cuda.matmul.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = True
        try:
            return work(*args)
        finally:
            torch.backends.cuda.matmul.allow_tf32 = before

    return with_tf32


def in_double(work):
    return lambda s, X, y, size=None: work(s, X.double(), y.double(), size)


def variants(s):
    return {
        ("multiplicative", "plain torch, float32"): plain_multiplicative,
        ("multiplicative", "plain torch, TF32"): tensor_float(plain_multiplicative),
        ("multiplicative", "plain torch, float64"): in_double(plain_multiplicative),
        ("multiplicative", "library, float64"): library_product("multiplicative"),
        ("additive", "plain torch (index_add), float32"): plain_additive,
        ("additive", "plain torch (index_add), float64"): in_double(plain_additive),
        ("additive", "sparse product, float32"): sparse_additive,
        ("additive", "library (index_add), float64"): library_product("additive"),
    }


def attempt(work, default="failed"):
    """Run a variant; one that fails is a line of the table, not the end of the run."""
    try:
        return work()
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        return f"{default}: {type(error).__name__}"


def product(s, sizes):
    X, y = s.rows()
    lines = []
    for (view, name), work in variants(s).items():
        for size in sizes:
            seconds = attempt(lambda w=work, b=size: s.time(lambda: w(s, X, y, b)))
            if isinstance(seconds, str):
                lines.append([view, name, size, seconds, "", ""])
                break
            peak = s.memory(lambda w=work, b=size: w(s, X, y, b))
            rate = (
                2 * s.N * s.M * s.D / seconds / 1e12 if view == "multiplicative" else float("nan")
            )
            lines.append([view, name, size, f"{seconds:.3f}", f"{rate:.0f}", f"{peak:.1f}"])
    header = ["view", "how", "rows a block", "s", "TFLOP/s (2 N M D)", "memory beyond X GiB"]
    return table(header, lines)


def stages(s):
    """Where the time of one block goes."""
    from covshift.corrections import Additive, Multiplicative
    from covshift.operators.target_sums import weighted_gram

    X, _ = s.rows(s.block)
    features = library_features(s, X)
    A, w = features(X.double()), torch.ones(len(X), dtype=torch.float64, device=s.device)
    share = torch.full((s.M,), 1 / s.M, dtype=torch.float64, device=s.device)
    additive, boxes = (kind().views(s.T, share) for kind in (Additive, Multiplicative))
    by_line, by_box = additive.factor(X), boxes.factor(X)
    work = {
        "values exp(-gamma |x - z|^2), tensors": lambda: features(X.double()),
        "bin codes": lambda: additive.factor(X),
        "sums into bins": lambda: additive.totals(by_line, A),
        "diagonal of V, additive": by_line.squares,
        "dominance times values": lambda: boxes.totals(by_box, A),
        "diagonal of V, multiplicative": by_box.squares,
        "squares A'A, float64": lambda: weighted_gram(A, w),
    }
    scale = s.N / s.block
    lines = []
    for name, task in work.items():
        seconds = attempt(lambda t=task: s.time(t))
        shown = seconds if isinstance(seconds, str) else f"{1e3 * seconds:.2f}"
        whole = "" if isinstance(seconds, str) else f"{seconds * scale:.3f}"
        lines.append([name, shown, whole])
    return table(["stage", f"ms for {s.block:,} rows", f"s for {s.N:,} rows"], lines)


def accuracy(s, rows):
    X, y = s.rows(rows)
    lines = []
    exact = {
        "multiplicative": plain_multiplicative(s, X.double(), y.double(), 1 << 14),
        "additive": plain_additive(s, X.double(), y.double(), 1 << 14),
    }
    for (view, name), work in variants(s).items():
        found = attempt(lambda w=work: w(s, X, y, s.block))
        if isinstance(found, str):
            lines.append([view, name, found, ""])
            continue
        reference = exact[view]
        if name.startswith("library") and view == "multiplicative":
            found = found * s.M**0.5  # the library's product holds the target's shares
        error = (found[:, : s.D] - reference[:, : s.D]).abs()
        worst = float(error.max() / reference[:, : s.D].abs().max())
        mean = float(error.norm() / reference[:, : s.D].norm())
        lines.append([view, name, f"{worst:.1e}", f"{mean:.1e}"])
    return table(["view", "how", "largest error / largest entry", "relative in norm"], lines)


def fits(s):
    from covshift import VSVR

    lines = []
    for correction in ("additive", "blended", "multiplicative"):
        for reg in (1.0, "cv"):
            for dtype in (torch.float32, torch.float64):
                if dtype == torch.float64 and reg == "cv":
                    continue
                lines.append(attempt_fit(s, VSVR, correction, reg, dtype))
    header = [
        "correction",
        "penalty",
        "precision",
        "fit s",
        "largest difference from float64 on CPU",
    ]
    return table(header, lines)


def attempt_fit(s, kind, correction, reg, dtype):
    from covshift import Kernel

    def model():
        return kind(
            correction,
            kernel=Kernel("rbf", width=s.width, coordinates="none"),
            reg=reg,
            solver="primal",
            n_components=s.D,
            random_state=0,
        )

    name = str(dtype).removeprefix("torch.")
    try:
        X, y = s.rows(dtype=dtype)
        T = s.T.to(dtype)
        seconds = s.time(lambda: model().fit(X, y, X_target=T), max(1, s.repeats - 2))
        small = s.rows(min(s.N, 100_000), dtype)
        ours = model().fit(*small, X_target=T)
        host = [array.double().cpu().numpy() for array in (*small, T)]
        theirs = model().fit(host[0], host[1], X_target=host[2])
        gap = np.abs(ours.predict(T).double().cpu().numpy() - theirs.predict(host[2])).max()
        same = "" if ours.reg_ == theirs.reg_ else f" (penalty {ours.reg_:.3g}, {theirs.reg_:.3g})"
        return [correction, reg, name, f"{seconds:.2f}", f"{gap:.1e}{same}"]
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        return [correction, reg, name, f"failed: {type(error).__name__}", ""]


def stream(s, rows):
    """Rows made on the device or copied from pinned host memory, block by block, never kept."""
    from covshift.corrections import as_correction
    from covshift.machine.primal import Primal, combine
    from covshift.numerics.hashing import RowUnits
    from covshift.numerics.kernels import NamedKernel

    share = torch.full((s.M,), 1 / s.M, dtype=torch.float64, device=s.device)
    lines = []
    size = min(rows, 4 * s.block)
    host = s.draw(size).cpu()
    host = host.pin_memory() if s.device.type == "cuda" else host
    for view in ("additive", "multiplicative"):
        target_sums = as_correction(view).target_sums(s.T, share, None)
        for source in ("generated on the device", "from pinned host memory"):

            def work(target_sums=target_sums, source=source):
                primal = Primal(
                    NamedKernel("rbf", s.width),
                    s.Z.double().cpu().numpy(),
                    target_sums,
                    n_folds=1,
                    units=RowUnits.of(s.T),
                    example=s.T[:1],
                )
                sums = {}
                for _ in range(0, rows, size):
                    if source.startswith("gen"):
                        X = s.draw(size)
                    else:
                        X = host.to(s.device, non_blocking=True)
                    y = torch.sin(X[:, :1]) + X[:, 1:2]
                    sums = combine(sums, primal.partial(X, y, torch.ones_like(X[:, 0])))
                primal.folds = sums
                return primal.fit(1.0)

            seconds = attempt(lambda w=work: s.time(w, 1))
            peak = s.memory(work) if not isinstance(seconds, str) else float("nan")
            shown = seconds if isinstance(seconds, str) else f"{seconds:.2f}"
            lines.append([view, source, f"{rows:,}", shown, f"{peak:.1f}"])
    return table(["view", "rows", "N", "whole fit s", "peak memory GiB"], lines)


def weights(s, rows):
    from covshift.weights import CDFWeights

    settings = ((1, None), (s.n, None), (s.n, 10.0))
    lines = [attempt_weights(s, CDFWeights, rows, n, reg) for n, reg in settings]
    header = [
        "features",
        "penalty",
        "N = M",
        "fit s",
        "penalty found",
        "largest difference from CPU",
    ]
    return table(header, lines)


def attempt_weights(s, kind, rows, n, reg):
    try:
        generator = torch.Generator(device=s.device).manual_seed(SEED)
        X = torch.randn((rows, n), device=s.device, dtype=torch.float64, generator=generator)
        T = torch.randn((rows, n), device=s.device, dtype=torch.float64, generator=generator)
        T = 0.9 * T + 0.3

        def model():
            return kind(reg=reg, solver="thresholds")

        seconds = s.time(lambda: model().fit(X, X_target=T), 1)
        found = model().fit(X, X_target=T).reg_
        few = min(rows, 20_000)
        ours = model().fit(X[:few], X_target=T[:few])
        theirs = model().fit(X[:few].cpu().numpy(), X_target=T[:few].cpu().numpy())
        ours_weights = ours.weights_
        if hasattr(ours_weights, "cpu"):
            ours_weights = ours_weights.cpu().numpy()
        gap = np.abs(ours_weights - theirs.weights_).max()
        return [n, reg, f"{rows:,}", f"{seconds:.2f}", f"{found:.3g}", f"{gap:.1e}"]
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        return [n, reg, f"{rows:,}", f"failed: {type(error).__name__}", "", ""]


def describe(s):
    name = (
        torch.cuda.get_device_name() if s.device.type == "cuda" else platform.processor() or "CPU"
    )
    return f"{name}, torch {torch.__version__}, Python {platform.python_version()}"


TITLES = {
    "product": "The product R [K(X, Z), 1, Y]",
    "stages": "Where the time goes",
    "accuracy": "Accuracy of the product against float64",
    "fit": "Whole fits: VSVR on tensors",
    "stream": "Rows that are never in memory together",
    "weights": "CDFWeights, additive",
}


def section(name, tiny):
    """Return one table, and the device."""
    sizes, device = (TINY, "cpu") if tiny else (SIZES, "cuda")
    s = Setting(sizes, device)
    make = {
        "product": lambda: product(s, sizes["blocks"]),
        "stages": lambda: stages(s),
        "accuracy": lambda: accuracy(s, sizes["accuracy"]),
        "fit": lambda: fits(s),
        "stream": lambda: stream(s, sizes["stream"]),
        "weights": lambda: weights(s, sizes["weights"]),
    }[name]
    return make(), describe(s)


def works(share, quick):
    """All tables, where there is a device: without one the last result stays."""
    del share  # times are taken once
    if torch is None or not (quick or torch.cuda.is_available()):
        return []
    return [Work("tables", section, [(name, quick) for name in TITLES], 60.0, True)]


def report(found):
    """Return all tables."""
    if "tables" not in found:
        return [table(["torch"], [["absent"]])]
    sizes, device = TINY if found["tables"][0][0][1] else SIZES, found["tables"][0][1][1]
    sections = [
        f"{device}. N = {sizes['N']:,}, M = {sizes['M']:,}, n = {sizes['n']}, {sizes['D']:,} "
        f"landmarks, seed {SEED}; best of {sizes['repeats']} runs."
    ]
    for (name, _), (text, _) in found["tables"]:
        sections += [f"## {TITLES[name]}", text]
    return sections


if __name__ == "__main__":
    main(__file__)
