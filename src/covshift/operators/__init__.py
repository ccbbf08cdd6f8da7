"""V as algebra: operators and factors that know no estimator."""

from .analytic import MinProduct, min_product
from .base import Factor, FactorOperator, VOperator
from .compose import ColumnWeightedFactor, RowWeighted, StackedFactor, WeightedSum
from .diagonal import Diagonal, DiagonalFactor
from .dominance import Dominance, DominanceFactor
from .lines import LineFactor, Lines
from .views import BoxViews, LineViews, Views

__all__ = [
    "BoxViews",
    "ColumnWeightedFactor",
    "Diagonal",
    "DiagonalFactor",
    "Dominance",
    "DominanceFactor",
    "Factor",
    "FactorOperator",
    "LineFactor",
    "LineViews",
    "Lines",
    "MinProduct",
    "RowWeighted",
    "StackedFactor",
    "VOperator",
    "Views",
    "WeightedSum",
    "min_product",
]
