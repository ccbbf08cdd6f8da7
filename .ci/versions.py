"""Build the packages and use them, and run the tests at the ends of the declared versions.

    python3 .ci/versions.py packages    the sdist and the wheel, each used in an empty environment
    python3 .ci/versions.py newest      the tests with the newest version of every dependency
    python3 .ci/versions.py oldest      the tests at the oldest declared versions
    python3 .ci/versions.py             all of that

With --python 3.12 on that one, with --here on the one that runs this; else on every Python from
3.11 to 3.14 that is here: one that is not is skipped, in words. What follows -- goes to pytest, in
place of -m "not thorough" -n 2 -q. It needs no package but the standard library.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from hashlib import sha256
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from pythons import PYTHONS, Environment, find, run, say

ROOT = Path(__file__).parents[1]
USED = ROOT / ".ci" / "used.py"
TESTS = ["-m", "not thorough", "-n", "2", "-q"]
NEVER = ("__pycache__", ".pyc", ".DS_Store", ".venv", ".git/", ".hypothesis")


def main() -> int:
    words = sys.argv[1:]
    end = words.index("--") if "--" in words else len(words)
    tests = words[end + 1 :] or TESTS
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", metavar="packages, newest or oldest")
    parser.add_argument("--python", action="append", choices=PYTHONS, help="all that are here")
    parser.add_argument("--here", action="store_true", help="the one that runs this")
    options = parser.parse_args(words[:end])
    what = options.what or ["packages", "newest", "oldest"]
    if unknown := set(what) - {"packages", "newest", "oldest"}:
        parser.error(f"there is no {unknown.pop()!r}")
    this = "{}.{}".format(*sys.version_info)
    pythons = _pythons([this] if options.here else options.python or PYTHONS)
    if not pythons:
        say("No Python from 3.11 to 3.14 that can make environments is here.")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        if "packages" in what:
            packages(pythons, Path(folder))
        if "newest" in what:
            newest(pythons, Path(folder), tests)
        if "oldest" in what:
            oldest(pythons, Path(folder), tests)
    say("All of it works: " + ", ".join(what))
    return 0


def packages(pythons: dict[str, Path], folder: Path) -> None:
    """Build both packages twice, look into them, and use each in an empty environment."""
    first = next(iter(pythons.values()))
    builder = Environment(first, folder / "builder")
    builder.pip("install", "build")
    dist = folder / "dist"
    run(builder.python, "-m", "build", "--outdir", dist, ROOT, stdout=subprocess.DEVNULL)
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    look_into(wheel, sdist)
    again = folder / "again"
    run(builder.python, "-m", "build", "--outdir", again, ROOT, stdout=subprocess.DEVNULL)
    for path in (sdist, wheel):
        digest, other = (sha256((at / path.name).read_bytes()).hexdigest() for at in (dist, again))
        if digest != other:
            raise SystemExit(f"Two builds of {path.name} differ: {digest} and {other}.")
        say(f"Built twice, the same bytes: {digest}  {path.name}")
    for version, python in pythons.items():
        say(f"Python {version}: the wheel without extras, in an empty environment")
        environment = Environment(python, folder / f"core-{version}")
        environment.pip("install", wheel)
        run(environment.python, USED, "--core", cwd=folder)
        say(f"Python {version}: the same with the command line's extra")
        environment.pip("install", f"{wheel}[cli]")
        run(environment.python, USED, "--cli", cwd=folder)
    say("The sdist, in an empty environment")
    environment = Environment(first, folder / "sdist")
    environment.pip("install", sdist)
    run(environment.python, USED, "--core", cwd=folder)


def look_into(wheel: Path, sdist: Path) -> None:
    """Every file of the package is in both packages, and none that should not be."""
    sources = ROOT / "src"
    wanted = {
        path.relative_to(sources).as_posix()
        for path in (sources / "covshift").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    in_wheel = set(zipfile.ZipFile(wheel).namelist())
    with tarfile.open(sdist) as archive:
        in_sdist = {name.partition("/")[2] for name in archive.getnames()}
    for name, there in (
        ("wheel", in_wheel),
        ("sdist", {path.removeprefix("src/") for path in in_sdist}),
    ):
        if missing := wanted - there:
            raise SystemExit(f"The {name} lacks {', '.join(sorted(missing)[:5])}.")
        if unwanted := [path for path in there if any(part in path for part in NEVER)]:
            raise SystemExit(f"The {name} should not hold {', '.join(sorted(unwanted)[:5])}.")
    tops = {path.partition("/")[0] for path in in_wheel}
    if len(tops) != 2 or "covshift" not in tops:  # the other one is what pip writes down
        raise SystemExit(f"The wheel installs more than covshift: {', '.join(sorted(tops))}.")
    others = ("tests/reference.py", "reproduction/settings.toml", "Makefile", "LICENSE")
    for path in ("pyproject.toml", *others):
        if path not in in_sdist:
            raise SystemExit(f"The sdist lacks {path}.")
    say(f"{wheel.name}: {len(in_wheel)} files; {sdist.name}: {len(in_sdist)}")


def newest(pythons: dict[str, Path], folder: Path, tests: list[str]) -> None:
    """Run the tests with what pip installs today where nothing holds it back."""
    for version, python in pythons.items():
        say(f"Python {version}: the newest version of every dependency")
        environment = Environment(python, folder / f"newest-{version}")
        environment.pip("install", "--only-binary", ":all:", "-e", ".[cli]", "--group", "test")
        run(environment.python, "-m", "pip", "freeze", "--exclude-editable")
        run(environment.python, "-m", "pytest", *tests, cwd=ROOT)


def oldest(pythons: dict[str, Path], folder: Path, tests: list[str]) -> None:
    """Run the tests at the floors of pyproject.toml, on the Pythons that have wheels for them."""
    for version in ("3.11", "3.12"):
        if version not in pythons:
            continue
        say(f"Python {version}: the oldest declared versions")
        run(
            *("make", "-C", ROOT, "test-oldest", f"PYTHON={pythons[version]}"),
            *(f"OLDEST={folder / f'oldest-{version}'}", f"PYTEST_ARGS={shlex.join(tests)}"),
        )


def _pythons(versions: list[str] | tuple[str, ...]) -> dict[str, Path]:
    found = {}
    for version in versions:
        path = find(version)
        if path is None:
            say(f"Python {version} is not here and is skipped.")
        else:
            found[version] = path
    return found


if __name__ == "__main__":
    sys.exit(main())
