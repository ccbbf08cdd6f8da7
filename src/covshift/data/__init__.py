"""The one door: both samples, checked, aligned and encoded once."""

from .groups import Groups
from .samples import Samples

__all__ = ["Groups", "Samples"]
