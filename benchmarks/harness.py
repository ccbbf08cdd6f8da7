"""The one harness of the benchmarks: jobs in processes, parts that are kept, results in files.

A benchmark is a file for one question. It has

    TITLE                    what it asks, the heading of its result
    works(share, quick)      a list of `Work`: functions, and the jobs they are called with
    report(found)            Markdown sections, from {work: [(job, value), ...]}

and ends with `main(__file__)`. Jobs are tuples of words and numbers that say all that a value
depends on, seed included. They are cut into parts of half a minute; each part that is done is a
file under .parts/, named by its jobs and by the code that it ran with (the library, the script and
the scripts which that imports), so that a run which was stopped goes on where it was, and more
repetitions add to those that are there.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib
import multiprocessing
import os
import pickle
import platform
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
RESULTS, PARTS = HERE / "results", HERE / ".parts"
sys.path.append(str(ROOT))  # for the package `reproduction`, which lies beside this folder
PART_SECONDS = 30.0
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
PACKAGES = ("numpy", "scipy", "scikit-learn", "covshift")


# Times, machines, tables


def best_time(work: Callable[[], Any], repeats: int = 3) -> float:
    """Return the shortest of ``repeats`` wall-clock times in seconds: the least disturbed one."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def versions(packages: Sequence[str] = PACKAGES) -> dict[str, str]:
    """Return the version of each package."""
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = getattr(sys.modules.get(package), "__version__", "absent")
    return found


def machine(packages: Sequence[str] = PACKAGES) -> str:
    """Describe processor, cores and versions in one line."""
    known = [f"{name} {number}" for name, number in versions(packages).items()]
    return ", ".join([f"{_processor()}, {_cores()}", f"Python {platform.python_version()}", *known])


@cache
def commit() -> str:
    """Return the commit of the code: what the variable COMMIT says, else git.

    A plus at its end: the code has changed since.
    """
    if told := os.environ.get("COMMIT"):
        return told
    found = _git("rev-parse", "--short=8", "HEAD")
    return (found or "unknown") + (
        "+" if _git("status", "--porcelain", "--", *_code_of_all()) else ""
    )


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _code_of_all() -> tuple[str, ...]:
    return "src", "reproduction", "benchmarks/*.py"


def _cores() -> str:
    """Number of cores, and how many of them this process may use."""
    every, used = os.cpu_count() or 1, cores()
    return f"{every} cores" if used == every else f"{used} of {every} cores"


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Lay out a Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join(lines)


def _processor() -> str:
    for line in _lines("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return f"{platform.processor() or platform.machine()} ({platform.system()})"


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


# What is to be done


@dataclass(frozen=True)
class Work:
    """A function that is called once for every job.

    ``seconds`` is what one call is expected to take on one core. The works that are ``alone``
    measure times: one of all of them runs at a time, in a process with two threads. What ``needs``
    a package that is not here is left out.
    """

    name: str
    call: Callable[..., Any]
    jobs: list[tuple[Any, ...]] = field(default_factory=lambda: [()])
    seconds: float = 1.0
    alone: bool = False
    needs: tuple[str, ...] = ()

    @property
    def missing(self) -> list[str]:
        """Packages that it needs and that are not here."""
        return [name for name in self.needs if find_spec(name) is None]


@dataclass(frozen=True)
class Part:
    """Some jobs of a work, done together and kept in one file."""

    benchmark: str
    work: Work
    jobs: list[tuple[Any, ...]]
    path: Path

    @property
    def seconds(self) -> float:
        return self.work.seconds * len(self.jobs)


def load(name: str) -> Any:
    """Import a benchmark by its name."""
    if str(HERE) not in sys.path:
        sys.path.insert(0, str(HERE))
    return importlib.import_module(name)


def runs(number: int, share: float, least: int = 2) -> int:
    """Return a number of repetitions, scaled."""
    return max(min(least, number), round(number * share))


def parts_of(name: str, works: list[Work], folder: Path) -> list[Part]:
    """Cut the jobs into parts."""
    code, parts = digest(name), []
    for work in works:
        size = max(1, int(PART_SECONDS / work.seconds)) if work.seconds else len(work.jobs)
        for start in range(0, 0 if work.missing else len(work.jobs), size):
            jobs = work.jobs[start : start + size]
            key = hashlib.sha256(repr((code, work.call.__name__, jobs)).encode()).hexdigest()[:16]
            path = folder / name / f"{work.name.replace(' ', '-')}-{key}.pickle"
            parts.append(Part(name, work, jobs, path))
    return parts


@cache
def digest(name: str) -> str:
    """Return a digest of the library and of a script with those that it imports."""
    seen: dict[str, bytes] = {}
    left = [name]
    while left:
        path = HERE / f"{left.pop()}.py"
        if path.stem in seen or not path.exists():
            continue
        seen[path.stem] = path.read_bytes()
        for node in ast.walk(ast.parse(seen[path.stem])):
            if isinstance(node, ast.Import):
                left += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                left.append(node.module)
    made = hashlib.sha256()
    for content in (*(seen[key] for key in sorted(seen)), _library()):
        made.update(content)
    return made.hexdigest()


@cache
def _library() -> bytes:
    made = hashlib.sha256()
    for folder in ("src", "reproduction"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".toml"):
                made.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return made.digest()


# Doing it


def do(part: Part) -> dict[str, Any]:
    """Do a part here, and keep it."""
    wall, cpu = time.perf_counter(), _processor_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = [part.work.call(*job) for job in part.jobs]
    took = {"wall": time.perf_counter() - wall, "cpu": _processor_time() - cpu}
    kept = {"jobs": part.jobs, "values": values, **took, "machine": machine()}
    part.path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=part.path.parent, suffix=".new", delete=False) as file:
        pickle.dump(kept, file)
    Path(file.name).replace(part.path)  # whole or not at all
    return took


def _processor_time() -> float:
    """Seconds of the processor, of the processes that were started as well."""
    return sum(os.times()[:4])


def read(part: Part) -> dict[str, Any] | None:
    """Return a part that is done; a file that cannot be read counts for nothing."""
    try:
        return pickle.loads(part.path.read_bytes())
    except (OSError, EOFError, pickle.UnpicklingError, AttributeError, ImportError):
        return None


def run_parts(
    parts: list[Part], jobs: int, until: float = float("inf"), say: Callable[[str], None] = print
) -> dict[Part | str, str]:
    """Do the parts, longest first; start none after ``until``. Return those that failed, and why.

    Works that are alone share one process of ``jobs``, which takes others when these are done.
    """
    left = sorted(parts, key=lambda part: -part.seconds)
    failed: dict[Any, str] = {}
    if jobs == 1:
        for part in left:
            if time.monotonic() < until:
                reason = _attempt(part)
                if isinstance(reason, str):
                    failed[part.path] = reason
        return failed
    lanes = [_Lane(alone=k == 0) for k in range(jobs)]
    done, start = 0, time.monotonic()
    try:
        while True:
            for lane in lanes:
                if lane.part is None and time.monotonic() < until:
                    lane.take(left)
            busy = {lane.pipe: lane for lane in lanes if lane.part is not None}
            if not busy:
                return failed
            for pipe in wait(list(busy)):
                part, reason = busy[pipe].finish()
                done += 1
                if isinstance(reason, str):
                    failed[part.path] = reason
                where = f"{part.benchmark}: {part.work.name}"
                took = reason.splitlines()[-1] if isinstance(reason, str) else f"{reason:.0f} s"
                say(f"{time.monotonic() - start:5.0f} s  {done} of {len(parts)}  {where}  {took}")
    finally:
        for lane in lanes:
            lane.end()


class _Lane:
    """A process that does one part after another; a new one where it died."""

    def __init__(self, alone: bool) -> None:
        self.alone, self.part, self.process = alone, None, None

    def take(self, left: list[Part]) -> None:
        """Begin with the longest part that this lane may do."""
        own = [part for part in left if part.work.alone == self.alone]
        if not own and self.alone:
            own = left  # nothing is left to be alone for
        if not own:
            return
        self.part = own[0]
        left.remove(self.part)
        if self.process is None:
            self._start()
        self.pipe.send(self.part)

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        before = {name: os.environ.get(name) for name in THREADS}
        os.environ.update(dict.fromkeys(THREADS, "2" if self.alone else "1"))
        try:
            self.pipe, other = context.Pipe()
            self.process = context.Process(target=_serve, args=(other,), daemon=False)
            self.process.start()
            other.close()
        finally:
            for name, value in before.items():
                os.environ.pop(name, None)
                os.environ.update({} if value is None else {name: value})

    def finish(self) -> tuple[Part, float | str]:
        """Return the part, and its seconds or why it failed."""
        part, self.part = self.part, None
        try:
            return part, self.pipe.recv()
        except (EOFError, OSError):  # killed, for memory as a rule
            self.process.join()
            code, self.process = self.process.exitcode, None
            return part, f"its process ended with {code}"

    def end(self) -> None:
        if self.process is not None:
            if self.part is None:
                self.pipe.send(None)
            else:
                self.process.terminate()
            self.process.join()


def _serve(pipe: Any) -> None:
    """Do what comes, until nothing does."""
    while True:
        try:
            part = pipe.recv()
        except (EOFError, KeyboardInterrupt):
            return
        if part is None:
            return
        pipe.send(_attempt(part))


def _attempt(part: Part) -> float | str:
    try:
        return do(part)["wall"]
    except Exception:  # the others go on
        return traceback.format_exc()


# Results


def gathered(parts: list[Part]) -> tuple[dict[str, list[Any]], dict[str, Any]] | None:
    """Return all values by work, and what they took; None where a part lacks."""
    found: dict[str, list[Any]] = {}
    took = {"cpu": 0.0, "machines": {}, "jobs": 0}
    for part in parts:
        kept = read(part)
        if kept is None:
            return None
        found.setdefault(part.work.name, []).extend(zip(part.jobs, kept["values"], strict=True))
        took["cpu"] += kept["cpu"]
        took["jobs"] += len(part.jobs)
        took["machines"][kept["machine"]] = None
    return found, took


def result(name: str, parts: list[Part], share: float) -> tuple[str, dict[str, Any]] | None:
    """Return the text of a result and what is known of it; None where a part lacks."""
    whole = gathered(parts)
    if whole is None:
        return None
    found, took = whole
    module = load(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sections = module.report(found)
    works = module.works(share, False)
    absent = [f"{work.name} ({', '.join(work.missing)})" for work in works if work.missing]
    about = {
        "benchmark": name,
        "title": module.TITLE,
        "commit": commit(),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": " and ".join(took["machines"]),
        "versions": versions(),
        "share": share,
        "jobs": took["jobs"],
        "core_seconds": round(took["cpu"]),
        "left_out": absent,
        "transcribed": False,
    }
    head = [
        f"# {module.TITLE}",
        f"Commit {about['commit']}, {about['date']}. Machine: {about['machine']}. {took['jobs']:,} "
        f"jobs, {took['cpu']:,.0f} seconds of the processor; share {share:g} of all repetitions.",
    ]
    if absent:
        head.append(f"Left out, since packages are not here: {'; '.join(absent)}.")
    tail = f"Command: `python benchmarks/{name}.py`."
    return "\n\n".join([*head, *sections, tail]) + "\n", about


def keep(text: str, about: dict[str, Any]) -> None:
    """Keep a result: the page, and beside it what is known of it and the quoted figures."""
    quotes = load("quotes")
    name = about["benchmark"]
    RESULTS.mkdir(exist_ok=True)
    before = quotes.known(name)
    figures, lacking = quotes.figures(name, text)
    earlier = quotes.earlier(before, lacking)
    if earlier:
        text += quotes.earlier_section(earlier)
    (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")
    quotes.write(name, {**about, "figures": figures, "earlier": earlier})


def main(file: str) -> None:
    """Run the one benchmark of a file: what a script does."""
    name = Path(file).stem
    module = load(name)
    parser = argparse.ArgumentParser(description=module.__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, nothing kept")
    parser.add_argument("--share", type=float, default=1.0, help="of the repetitions")
    parser.add_argument("--jobs", type=int, default=cores(), help="processes")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start nothing later")
    parser.add_argument("--parts", type=Path, default=PARTS, help="where parts are kept")
    options = parser.parse_args()
    if options.quick:
        sys.stdout.write(quick(name))
        return
    parts = parts_of(name, module.works(options.share, False), options.parts)
    missing = [part for part in parts if not part.path.exists()]
    until = time.monotonic() + 60 * options.minutes
    failed = run_parts(missing, options.jobs, until, lambda line: print(line, file=sys.stderr))
    for reason in failed.values():
        print(reason, file=sys.stderr)
    made = result(name, parts, options.share)
    if made is None:
        sys.exit("Parts are missing; the same command goes on from here.")
    keep(*made)
    sys.stdout.write(made[0])


def quick(name: str) -> str:
    """Run a small version of a benchmark here; return its page."""
    module = load(name)
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for work in module.works(1.0, True):
            if not work.missing:
                found[work.name] = [(job, work.call(*job)) for job in work.jobs]
        return "\n\n".join([f"# {module.TITLE}", *module.report(found)]) + "\n"
