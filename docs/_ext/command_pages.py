"""One page per command, made from the options that the command line uses.

The pages are written to ``docs/commands/`` before the build and are not kept in the repository.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from api_pages import write

from covshift.cli.command import GROUPS, Argument
from covshift.cli.commands import COMMANDS, command

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config


def option_line(param: click.Parameter) -> list[str]:
    """An option or argument, as a definition."""
    if isinstance(param, Argument):
        more = " ..." if param.nargs == -1 else ""
        return [f"``{bare(param)}{more}``", f"   {_sentence(param.about)}", ""]
    context = click.Context(click.Command("covshift"))
    value = "" if param.is_flag else f" {param.make_metavar(context)}"
    term = ", ".join(f"``{flag}{value}``" for flag in param.opts)
    return [term, f"   {_sentence(param.help or '')}", ""]


def bare(param: Argument) -> str:
    """The name of an argument."""
    return str(param.metavar).strip("[].")


def _sentence(text: str) -> str:
    whole = text[:1].upper() + text[1:] + ("" if text.endswith((".", "?")) else ".")
    return _escaped(whole)


def _escaped(text: str) -> str:
    for character in "\\*`|_":
        text = text.replace(character, "\\" + character)
    return text


def command_page(name: str, about: str) -> str:
    """Usage, what it does, and every option, group by group."""
    made = command(name)
    title = f"covshift {name}"
    named = [param for param in made.params if isinstance(param, Argument)]
    usage = " ".join([title, "[options]", *map(bare, named)])
    said = _escaped(" ".join((made.help or about).split()))
    lines = [title, "=" * len(title), "", said, "", ".. code-block:: text", ""]
    lines += [f"   {usage}", ""]
    grouped = {"arguments": named} | {
        group: [param for param in made.params if getattr(param, "group", "") == group]
        for group in GROUPS
    }
    for group, params in grouped.items():
        if params:
            lines += [group.capitalize(), "-" * len(group), ""]
            for param in params:
                lines += option_line(param)
    return "\n".join(lines)


def generate(app: Sphinx, config: Config) -> None:
    """Write the page of every command, and their list."""
    folder = Path(app.srcdir) / "commands"
    folder.mkdir(exist_ok=True)
    for name, entry in COMMANDS.items():
        write(folder / f"{name}.rst", command_page(name, entry.about))
    for path in folder.glob("*.rst"):
        if path.stem not in COMMANDS:
            path.unlink()


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages as soon as the configuration is there."""
    app.connect("config-inited", generate)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
