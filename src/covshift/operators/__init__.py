"""V as algebra: operators and factors that know no estimator."""

from .base import Factor, Gram, VOperator
from .compose import (
    Dense,
    Diagonal,
    Entries,
    FactorOperator,
    MinProduct,
    StackedFactor,
    is_diagonal,
    min_product,
)
from .dominance import Dominance, DominanceFactor
from .line_factor import LineFactor, Lines
from .line_thresholds import Thresholds
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
    "Coordinates",
    "Dense",
    "Diagonal",
    "DiagonalTargetSums",
    "Dominance",
    "DominanceFactor",
    "Entries",
    "Factor",
    "FactorOperator",
    "Gram",
    "LineFactor",
    "LineViews",
    "Lines",
    "MinProduct",
    "StackedFactor",
    "Sums",
    "TargetSums",
    "Thresholds",
    "VOperator",
    "Views",
    "ViewsTargetSums",
    "WeightedTargetSums",
    "identity_share",
    "is_diagonal",
    "min_product",
    "projected",
    "random_directions",
    "unit_scale",
]
