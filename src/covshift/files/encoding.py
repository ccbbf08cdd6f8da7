"""The rules that made numbers of two files, as the commands ask about them."""

from __future__ import annotations

from dataclasses import dataclass

from ..encoding import MISSING, Feature, TableEncoder
from .columns import Kind

MISSING_LEVEL = MISSING


@dataclass(frozen=True)
class Encoding:
    """The rules, in order."""

    encoder: TableEncoder

    @property
    def features(self) -> tuple[Feature, ...]:
        """One rule per column of a table."""
        return self.encoder.features_

    @property
    def columns(self) -> list[str]:
        """Names of the columns of X."""
        return list(self.encoder.columns)

    @property
    def names(self) -> list[str]:
        """Names of the columns that a table must have."""
        return [feature.name for feature in self.features]

    @property
    def kinds(self) -> dict[str, Kind]:
        """What each column is."""
        return {feature.name: feature.kind for feature in self.features}  # type: ignore[misc]
