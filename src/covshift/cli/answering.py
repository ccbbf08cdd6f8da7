"""A command that had to ask: all questions in one message, or with --auto their safest answers."""

from __future__ import annotations

import argparse
from typing import Any

from ..exceptions import InputError

_ROUNDS = 4  # an answer may lead to another question, but not for ever


def run_answered(args: argparse.Namespace) -> int:
    """Run the command of ``args``; ask, or answer for the user, what could be read in two ways."""
    from .._tables.questions import Asked, answered

    asked_before: list[Any] = []
    argv = [part for part in args.argv if part != "--auto"]
    auto = getattr(args, "auto", False)
    for _ in range(_ROUNDS):
        complete(args)
        try:
            return int(args.run(args) or 0)
        except Asked as asked:
            if not auto:
                raise InputError(asked.message(argv)) from None
            if "-" in (getattr(args, name, None) for name in ("train", "target", "table")):
                raise InputError(
                    f"{asked.message(argv)}\n--auto reads the files a second time, which standard "
                    "input cannot be: name a file, or give the answers yourself."
                ) from None
            asked_before += asked.questions
            argv = answered(argv, asked.options)
            args = args.parse(argv)
            args.argv, args.asked = argv, asked_before
    raise InputError("--auto found no end of questions. Run the command without it, to see them.")


def complete(args: argparse.Namespace) -> None:
    """Take what was not said from the schema file, and refuse a command that lacks something."""
    if getattr(args, "schema", None) is not None:
        from .schema import apply_schema

        apply_schema(args)
    needs = getattr(args, "needs", {})
    lacking = [option for name, option in needs.items() if not _said(args, name)]
    if lacking:
        raise InputError(f"This command needs {' and '.join(lacking)} COL: name the column.")


def _said(args: argparse.Namespace, name: str) -> bool:
    return getattr(args, name) not in (None, [])
