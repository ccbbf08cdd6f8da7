"""Settings and published numbers, read from their TOML files; jobs made from them."""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
_DECISIVE = ("seed", "protocol", "options", "synthetic", "table", "robustness")
EXPERIMENTS = ("1", "2", "3", "4", "5", "robustness")


@dataclass(frozen=True)
class Settings:
    """What a trial depends on: the TOML file, and where the data come from."""

    values: dict[str, Any]
    source: str = "real"

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    @property
    def fingerprint(self) -> str:
        """A short hash of all that changes a trial's numbers; not of which trials there are."""
        kept = {name: self.values[name] for name in _DECISIVE}
        text = json.dumps([kept, self.source], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def read_settings(source: str = "real", seed: int | None = None) -> Settings:
    """Read ``settings.toml``; another seed than its own may be given."""
    values = tomllib.loads((HERE / "settings.toml").read_text(encoding="utf-8"))
    if seed is not None:
        values["seed"] = seed
    return Settings(values, source)


def read_expected() -> dict[str, Any]:
    """Read ``expected.toml``."""
    return tomllib.loads((HERE / "expected.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True, order=True)
class Key:
    """One trial: an experiment, a cell of it (a data set or a sample size), a number."""

    experiment: str
    cell: str
    trial: int


@dataclass(frozen=True)
class Job:
    """A trial, and the contenders that are still missing in it."""

    key: Key
    contenders: tuple[str, ...] = field(default=())


def cells(settings: Settings, experiment: str) -> list[str]:
    """Names of the cells of an experiment, in the order of the tables."""
    if experiment == "1":
        return ["one run"]
    if experiment == "2":
        return [f"N = {size}" for size in settings["synthetic"]["sizes"]]
    return list(settings["cells"][experiment])


def dataset_of(cell: str) -> str:
    """The data set that a cell of Experiments 3 to 5 is about: its first word."""
    return cell.split()[0]


def contenders_of(settings: Settings, experiment: str, cell: str) -> list[str]:
    """Names of the contenders in a cell."""
    chosen = settings["contenders"]
    if experiment in ("1", "2"):
        return list(chosen["synthetic"])
    if cell.endswith("raw norm"):
        return ["unweighted", "additive"]
    if experiment == "robustness":
        swept = settings["robustness"]
        return [name for name in chosen["table"] if name in swept or name in swept["gamma_only"]]
    return list(chosen["table"])
