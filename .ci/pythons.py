"""Find the Pythons that are here, and make empty environments of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
_TELL = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2], sys.executable)"


def find(version: str) -> Path | None:
    """Return a Python of this version that can make environments, or None where none is here."""
    for command in _candidates(version):
        try:
            told = subprocess.run(
                [command, "-c", _TELL], capture_output=True, text=True, check=True
            )
        except (OSError, subprocess.CalledProcessError):
            continue  # a shim that leads nowhere, or a Python without venv
        found, _, path = told.stdout.strip().partition(" ")
        if found == version:
            return Path(path)
    return None


def _candidates(version: str) -> list[str]:
    """Commands and files that may be it: this Python, the path, pyenv, uv."""
    managed = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [sys.executable, f"python{version}"]
    found += sorted(map(str, managed.glob(f"{version}.*/bin/python")), reverse=True)
    if uv := shutil.which("uv"):
        asked = subprocess.run([uv, "python", "find", version], capture_output=True, text=True)
        found += [asked.stdout.strip()] if asked.returncode == 0 else []
    return found


class Environment:
    """An environment in a folder, with nothing but a pip that knows dependency groups."""

    def __init__(self, python: Path, folder: Path) -> None:
        run(python, "-m", "venv", folder)
        self.bin = folder / ("Scripts" if os.name == "nt" else "bin")
        self.python = self.bin / "python"
        self.pip("install", "--upgrade", "pip>=25.1")

    def pip(self, *words: object) -> None:
        run(self.python, "-m", "pip", "--quiet", "--disable-pip-version-check", *words, cwd=ROOT)


def run(*words: object, **options: Any) -> None:
    """Run a command; the script ends where it fails."""
    done = subprocess.run([str(word) for word in words], **options)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))} ended with {done.returncode}.")


def say(text: str) -> None:
    print(f"== {text}", flush=True)
