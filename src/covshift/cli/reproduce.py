"""``covshift reproduce``: the paper's experiments, from the checkout or from the wheel."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from ..exceptions import InputError

_CHECKOUT = Path(__file__).parents[3]


def run(argv: list[str]) -> int:
    """Run the experiments with these arguments; return the exit status.

    In a checkout they are its folder ``experiments``, in a wheel the package
    ``covshift_experiments``.
    """
    name = "covshift_experiments"
    if (_CHECKOUT / "experiments" / "cli.py").exists():
        name = "experiments"
        if str(_CHECKOUT) not in sys.path:  # the processes that run trials look there too
            sys.path.insert(0, str(_CHECKOUT))
    elif find_spec(name) is None:
        raise InputError(
            "The paper's experiments are not part of this installation. Install covshift from its "
            "wheel, or run the command in a checkout of the repository."
        )
    return int(import_module(f"{name}.cli").main(argv))
