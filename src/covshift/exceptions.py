"""Warnings that a user may want to filter or to turn into errors."""


class CoverageWarning(UserWarning):
    """Part of the training sample, or all of it, is not seen from the target.

    A training point that no target point dominates has a zero column in V: it does not enter the
    loss (theory, section 2).
    """
