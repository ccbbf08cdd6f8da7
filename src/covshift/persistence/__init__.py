"""Fitted estimators in files that are safe to load: no pickle, no code."""

from .files import MAX_BYTES, Model, load, save

__all__ = ["MAX_BYTES", "Model", "load", "save"]
