"""Contract checks, shipped so that third parties can run them on their own classes."""

from .operators import check_correction, check_operator
from .weighters import check_weighter, check_weights

__all__ = ["check_correction", "check_operator", "check_weighter", "check_weights"]
