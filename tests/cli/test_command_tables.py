"""The table of options in a command's docstring, and the fields of its dataclass, are the same."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module

import pytest

from covshift.cli.command import GROUPS
from covshift.cli.commands import COMMANDS, command, parse

SET_BY_COVSHIFT = {"argv", "known_reading", "decided", "known", "as_estimate"}
FIXED = {"predict": {"date", "target_sheet"}, "margins": {"target_sheet"}}  # fields, not options


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_a_field_and_has_its_default(name):
    cls = import_module(COMMANDS[name].module).Arguments
    params = command(name).params
    given = {f.name for f in fields(cls)} - SET_BY_COVSHIFT - FIXED.get(name, set())
    assert {param.name for param in params} == given
    files = [param.name for param in params if param.required]
    found = parse([name, *files])
    defaults = {f.name: f.default for f in fields(cls)} | dict(zip(files, files, strict=True))
    assert {f.name: getattr(found, f.name) for f in fields(cls) if f.name != "argv"} == {
        key: value for key, value in defaults.items() if key != "argv"
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_a_heading_and_help_without_blanks_to_fill(name):
    for param in command(name).params:
        if param.param_type_name == "option":
            assert param.group in GROUPS
            assert param.help
            assert "{" not in param.help


def test_values_are_read_as_the_table_says():
    found = parse(
        [
            "weigh",
            "a",
            "b",
            "--limits",
            "0.5",
            "2",
            "--sum-to",
            "size",
            "--drop",
            "x",
            "--drop",
            "y",
        ]
    )
    assert (found.limits, found.sum_to, found.drop) == ((0.5, 2.0), "size", ("x", "y"))
    found = parse(["estimate", "a", "b", "--label", "y", "--quantile", "0.9", "--at", "-1", "-q"])
    assert (found.outcome, found.quantile, found.at, found.quiet) == (("y",), (0.9,), (-1.0,), True)
