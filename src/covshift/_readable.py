"""Numbers for people: four digits that count, and separators of thousands."""

from __future__ import annotations

import math
from datetime import date, timedelta


def readable(value: float) -> str:
    """Write a number with four significant digits; whole numbers below a million in full.

    >>> [readable(v) for v in (129071.6878, 0.0123456, 3.5, 1200, 65, 4.2e12, -0.0)]
    ['129,100', '0.01235', '3.5', '1,200', '65', '4.2e+12', '0']
    """
    if not math.isfinite(value):
        return f"{value:g}"
    if value == int(value) and abs(value) < 1e6:
        return f"{int(value):,}"
    rounded = float(f"{value:.4g}")
    if not 1e-4 <= abs(rounded) < 1e9:
        return f"{value:.4g}"
    if abs(rounded) >= 1000:
        return f"{rounded:,.0f}"
    return f"{rounded:.4g}"


def percent(share: float) -> str:
    """Write a share in percent, small ones with the digits that count.

    >>> percent(0.3149), percent(0.0449), percent(0.00123), percent(0.0)
    ('31%', '4.5%', '0.12%', '0%')
    """
    if share == 0 or share >= 0.095:
        return f"{share:.0%}"
    return f"{100 * share:.1f}%" if share >= 0.01 else f"{100 * share:.2g}%"


def as_date(days: float) -> str:
    """Write days since 1970-01-01 as a date.

    >>> as_date(20454.5)
    '2026-01-01'
    """
    try:
        return (date(1970, 1, 1) + timedelta(days=math.floor(days))).isoformat()
    except (OverflowError, ValueError):
        return readable(days)
