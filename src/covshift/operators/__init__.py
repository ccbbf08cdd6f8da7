"""V as algebra: operators and factors that know no estimator."""

from .base import Factor, VOperator
from .compose import (
    ColumnWeightedFactor,
    Dense,
    Diagonal,
    DiagonalFactor,
    FactorOperator,
    MinProduct,
    RowWeighted,
    StackedFactor,
    WeightedSum,
    min_product,
)
from .dominance import Dominance, DominanceFactor
from .line_factor import LineFactor, Lines
from .target_sums import (
    DiagonalTargetSums,
    Sums,
    TargetSums,
    ViewsTargetSums,
    WeightedTargetSums,
    identity_share,
    unit_scale,
)
from .views import BoxViews, Coordinates, LineViews, Views, projected, random_directions

__all__ = [
    "BoxViews",
    "ColumnWeightedFactor",
    "Coordinates",
    "Dense",
    "Diagonal",
    "DiagonalFactor",
    "DiagonalTargetSums",
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
    "Sums",
    "TargetSums",
    "VOperator",
    "Views",
    "ViewsTargetSums",
    "WeightedSum",
    "WeightedTargetSums",
    "identity_share",
    "min_product",
    "projected",
    "random_directions",
    "unit_scale",
]
