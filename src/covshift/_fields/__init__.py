"""What of a fitted object goes into a file, attribute by attribute, each with its kind.

A class declares its fitted attributes in ``_saved``, a mapping of names to kinds; those of its
base classes belong to it too. Writing follows the declaration, and so does reading, which believes
nothing: what is not of the declared kind, size or range is a ValueError, and nothing that is not
declared is read. Sizes have names: arrays of one object that share a name share the size, and "n"
is the number of features. What must hold beyond that, ``_after_loading`` checks.

    >>> from covshift._fields import NUMBER, Reals
    >>> _saved = {"centers_": Reals("b", "n"), "coef_": Reals("b"), "width_": NUMBER}
"""

from .base import Kind, Path, Reader, Sizes, Writer, refuse
from .parts import (
    ESTIMATOR,
    Each,
    Maybe,
    OrNone,
    Part,
    fields_of,
    read_fields,
    write_fields,
)
from .values import (
    COUNT,
    FINITE,
    FLAG,
    NONNEGATIVE,
    NUMBER,
    PENALTY,
    PLAIN,
    POSITIVE,
    SHARE,
    TEXT,
    WHOLE,
    Labels,
    Numbers,
    OneOf,
    Reals,
    Size,
    Texts,
    Wholes,
)

__all__ = [
    "COUNT",
    "ESTIMATOR",
    "FINITE",
    "FLAG",
    "NONNEGATIVE",
    "NUMBER",
    "PENALTY",
    "PLAIN",
    "POSITIVE",
    "SHARE",
    "TEXT",
    "WHOLE",
    "Each",
    "Kind",
    "Labels",
    "Maybe",
    "Numbers",
    "OneOf",
    "OrNone",
    "Part",
    "Path",
    "Reader",
    "Reals",
    "Size",
    "Sizes",
    "Texts",
    "Wholes",
    "Writer",
    "fields_of",
    "read_fields",
    "refuse",
    "write_fields",
]
