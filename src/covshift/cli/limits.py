"""``--limits`` of ``covshift weigh``: bounds of the weights, and what they cost."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ..exceptions import InputError
from ..registry import listed


def weighter_of(args: argparse.Namespace) -> Any:
    """Make the weighter that --method names, with --limits."""
    from ..weights import WEIGHTERS, as_weighter
    from ..weights._limits import LIMITS

    weighter = as_weighter(args.method)
    if args.limits is None:
        return weighter
    if "limits" not in weighter.get_params(deep=False):
        able = [name for name in WEIGHTERS if "limits" in WEIGHTERS[name]().get_params(deep=False)]
        raise InputError(f"--limits is for {listed(able)}, not {args.method}.")
    if not LIMITS.allows(args.limits):
        raise InputError(
            f"--limits {args.limits[0]:g} {args.limits[1]:g} must be a low and a high bound, with "
            "0 <= low <= 1 <= high and low < high: the mean of the factors is one."
        )
    return weighter.set_params(limits=tuple(args.limits))


def cost_of(fitted: Any, names: Sequence[str] = ()) -> dict[str, Any]:
    """What the limits cost, for --json; columns of an array by their ``names``."""
    cost = getattr(fitted, "balance_cost_", None)
    if cost is None:
        return {}
    found = asdict(cost)
    number = found["worst"].removeprefix("column ")
    if names and number.isdigit():
        found["worst"] = repr(names[int(number)])
    return {"limits": found}


def cost_line(facts: dict[str, Any]) -> str:
    """Say what the limits cost, in a line of its own."""
    from ..weights._limits import BalanceCost

    return f"\n{BalanceCost(**facts['limits'])}" if "limits" in facts else ""
