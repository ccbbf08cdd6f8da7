"""A target known by its margins: shares of brackets and categories, quantiles, means, tables."""

from .margins import Margins

__all__ = ["Margins"]
