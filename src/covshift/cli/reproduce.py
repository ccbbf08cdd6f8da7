"""``covshift reproduce``: the paper's experiments."""

from __future__ import annotations


def run(argv: list[str]) -> int:
    """Run the experiments with these arguments; return the exit status."""
    from ..reproduction.cli import main

    return main(argv)
