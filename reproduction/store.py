"""Finished trials on disk, one JSON line each: an interruption loses at most the line in hand.

A line is one write of the parent process. A last line without its end is cut off before the next
is added; results of the same trial in several lines (of several runs with other methods) are put
together. Lines of other settings stay in the file and are not read.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .configuration import Key

Results = dict[Key, dict[str, Any]]
"""For each trial, what was found for each contender."""


class Store:
    """A file of trials for one fingerprint of settings."""

    def __init__(self, path: Path, fingerprint: str) -> None:
        self.path = path
        self.fingerprint = fingerprint

    def load(self) -> Results:
        """Return the finished trials; what is cut off or of other settings is left out."""
        if not self.path.exists():
            return {}
        return merged(_lines(self.path.read_text(encoding="utf-8")), self.fingerprint)

    def append(self, key: Key, found: dict[str, Any]) -> None:
        """Add a finished trial in a single write."""
        line = as_line(key, found, self.fingerprint) + "\n"
        with self.path.open("ab", buffering=0) as file:
            file.write(line.encode())

    def repair(self) -> None:
        """Cut off a last line that was not finished."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not self.path.exists():
            return
        with self.path.open("rb+") as file:
            content = file.read()
            end = content.rfind(b"\n") + 1
            if end < len(content):
                file.truncate(end)
                os.fsync(file.fileno())


def as_line(key: Key, found: dict[str, Any], fingerprint: str) -> str:
    """One trial as a line of JSON."""
    record = {
        "experiment": key.experiment,
        "cell": key.cell,
        "trial": key.trial,
        "settings": fingerprint,
        "contenders": found,
    }
    return json.dumps(record, separators=(",", ":"), allow_nan=False)


def merged(lines: Iterable[dict[str, Any]], fingerprint: str) -> Results:
    """Put the lines of one fingerprint together."""
    results: Results = {}
    for line in lines:
        if line.get("settings") == fingerprint:
            key = Key(line["experiment"], line["cell"], line["trial"])
            results.setdefault(key, {}).update(line["contenders"])
    return results


def write_compact(path: Path, results: Results, fingerprint: str) -> None:
    """Write all trials in order, compressed, without times: the same numbers give the same file."""
    lines = []
    for key in sorted(results):
        found = {
            name: {part: value for part, value in results[key][name].items() if part != "seconds"}
            for name in sorted(results[key])
        }
        lines.append(as_line(key, found, fingerprint))
    with path.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
        file.write(("\n".join(lines) + "\n").encode())


def read_compact(path: Path) -> tuple[Results, str]:
    """Read what `write_compact` wrote, and the fingerprint of its settings."""
    lines = list(_lines(gzip.decompress(path.read_bytes()).decode()))
    fingerprint = str(lines[0]["settings"]) if lines else ""
    return merged(lines, fingerprint), fingerprint


def _lines(text: str) -> Iterable[dict[str, Any]]:
    for line in text.splitlines():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:  # cut off by an interruption
            continue
