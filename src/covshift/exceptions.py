"""Warnings that a user may want to filter or to turn into errors."""


class CoverageWarning(UserWarning):
    """Part of the training sample, or all of it, is not seen from the target.

    A training point that no target point dominates has a zero column in V: it does not enter the
    loss (theory, section 2).
    """


class WeightWarning(UserWarning):
    """Weights rest on a few rows, or move the sample away from the target."""


class ConstantColumnWarning(UserWarning):
    """A column does not vary over training and target rows, and is left out."""


class ConditionWarning(UserWarning):
    """A system is so ill conditioned that rounding may dominate its coefficients."""


class NoOverlapError(ValueError):
    """No weights make the training sample look like the target: parts of it have no rows."""


class InputError(ValueError):
    """A file, a table or an option that cannot be used; the message says what to do next."""
