"""The contenders, one file each; `CONTENDERS` has them by name."""

from . import (
    additive,
    blended,
    cdf,
    empirical,
    huang,
    kliep,
    robust,
    rulsif,
    shimodaira,
    sliced,
    sugiyama,
    symmetric,
    truth,
    ulsif,
    uniform,
    unweighted,
)
from .base import ByV, ByWeights, Contender, Learner, Sample

_FILES = (
    unweighted,
    additive,
    shimodaira,
    huang,
    kliep,
    ulsif,
    sugiyama,
    rulsif,
    uniform,
    empirical,
    symmetric,
    blended,
    sliced,
    cdf,
    robust,
    truth,
)
CONTENDERS: dict[str, Contender] = {
    contender.name: contender for file in _FILES for contender in file.CONTENDERS
}

__all__ = ["CONTENDERS", "ByV", "ByWeights", "Contender", "Learner", "Sample"]
