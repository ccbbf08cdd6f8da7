"""V as algebra: operators and factors that know no estimator."""

from .analytic import MinProduct, min_product
from .base import Factor, VOperator
from .compose import ColumnWeightedFactor, FactorOperator, RowWeighted, StackedFactor, WeightedSum
from .dense import Dense
from .diagonal import Diagonal, DiagonalFactor
from .dominance import Dominance, DominanceFactor
from .lens import DiagonalLens, Lens, Sums, ViewsLens, WeightedLens, identity_share, unit_scale
from .lines import LineFactor, Lines
from .views import BoxViews, Coordinates, LineViews, Views, projected

__all__ = [
    "BoxViews",
    "ColumnWeightedFactor",
    "Coordinates",
    "Dense",
    "Diagonal",
    "DiagonalFactor",
    "DiagonalLens",
    "Dominance",
    "DominanceFactor",
    "Factor",
    "FactorOperator",
    "Lens",
    "LineFactor",
    "LineViews",
    "Lines",
    "MinProduct",
    "RowWeighted",
    "StackedFactor",
    "Sums",
    "VOperator",
    "Views",
    "ViewsLens",
    "WeightedLens",
    "WeightedSum",
    "identity_share",
    "min_product",
    "projected",
    "unit_scale",
]
