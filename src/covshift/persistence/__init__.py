"""Fitted models in files that are safe to load."""

from .files import MAX_BYTES, Model, load, save

__all__ = ["MAX_BYTES", "Model", "load", "save"]
