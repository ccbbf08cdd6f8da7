"""One page per public class and function, and one per module, written before the build.

What is public is what ``covshift`` and its public modules name in ``__all__``: a new name has a
page without anybody writing one. The pages are written to ``docs/api/`` and are not kept in the
repository.
"""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import covshift

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config

MODULES = (  # as a reader meets them
    "estimates",
    "evaluations",
    "conformal",
    "diagnostics",
    "comparison",
    "registry",
    "weights",
    "corrections",
    "machine",
    "objectives",
    "torch",
    "distributed",
    "datasets",
    "plot",
    "report",
    "show",
    "persistence",
    "exceptions",
    "bounds",
    "operators",
    "testing",
)


class Name(NamedTuple):
    """A public name, under the module that a user imports it from."""

    module: str
    name: str
    value: Any

    @property
    def full(self) -> str:
        return f"{self.module}.{self.name}"

    @property
    def kind(self) -> str:
        if inspect.isclass(self.value):
            return "class"
        return "function"


def public_names() -> dict[str, list[Name]]:
    """The public names of every module; each name once, at the top where it is there as well."""
    top = [n for n in covshift.__all__ if n != "__version__" and n not in covshift._MODULES]
    found = {"covshift": [Name("covshift", n, getattr(covshift, n)) for n in top]}
    for short in MODULES:
        module = import_module(f"covshift.{short}")
        names = getattr(module, "__all__", None) or [
            n for n, v in vars(module).items() if getattr(v, "__module__", "") == module.__name__
        ]
        here = [Name(module.__name__, n, getattr(module, n)) for n in names if n not in top]
        found[module.__name__] = [entry for entry in here if callable(entry.value)]
    return found


def name_page(entry: Name, used_on: list[str], drawn_in: list[str]) -> str:
    """The page of one class or function, with links to the pages and examples that use it."""
    title = entry.name
    lines = [title, "=" * len(title), "", f".. currentmodule:: {entry.module}", ""]
    lines += [f".. auto{entry.kind}:: {entry.full}"]
    if entry.kind == "class" and not issubclass(entry.value, Exception):
        lines += ["   :members:", "   :inherited-members:"]
    if used_on:
        lines += ["", ".. rubric:: On the pages", ""]
        lines += ["- :doc:`/" + page + "`" for page in used_on]
    if drawn_in:
        lines += ["", ".. rubric:: Examples with pictures", ""]
        lines += [".. minigallery::", ""]
        lines += [f"   ../examples/gallery/{example}.py" for example in drawn_in]
    return "\n".join([*lines, ""])


def module_page(module: str, names: list[Name]) -> str:
    """The page of a module: what it is for, and a line about each of its names."""
    lines = [module, "=" * len(module), "", f".. automodule:: {module}", ""]
    for kind, words in (("class", "Classes"), ("function", "Functions")):
        some = [entry for entry in names if entry.kind == kind]
        if some:
            lines += [f".. rubric:: {words}", "", ".. list-table::", "   :widths: 30 70", ""]
            for entry in some:
                lines += [
                    f"   * - :doc:`{entry.name} <{entry.full}>`",
                    f"     - {first_line(entry.value)}",
                ]
            lines += [""]
    entries = [f"   {entry.name} <{entry.full}>" for entry in names]
    return "\n".join([*lines, ".. toctree::", "   :hidden:", "", *entries, ""])


def first_line(value: Any) -> str:
    """The first sentence of a docstring, as reST."""
    said = " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())
    return re.sub(r"(``.*?``)|([|*\\])", lambda found: found[1] or "\\" + found[2], said)


def pages_with(name: str, pages: dict[str, str]) -> list[str]:
    """The pages whose Python examples have this name."""
    word = re.compile(rf"(?<![\w.\"']){re.escape(name)}\b(?!\s*=)")
    return [page for page, code in pages.items() if word.search(code)]


def examples(folder: Path) -> dict[str, str]:
    """The Python of every page, by the page's name."""
    block = re.compile(r"^```python\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.md"))}
    return {name: "\n".join(block.findall(text)) for name, text in texts.items()}


def gallery(folder: Path) -> dict[str, str]:
    """The code of every example, without its prose, by its section and the file's name."""
    return {
        f"{path.parent.name}/{path.stem}": re.sub(
            r"^#[^\n]*$|\"{3}.*?\"{3}",
            "",
            path.read_text(encoding="utf-8"),
            flags=re.DOTALL | re.MULTILINE,
        )
        for path in sorted(folder.glob("*/plot_*"))
    }


def write(path: Path, text: str) -> None:
    """Write a file where it has changed, so that an unchanged page is not built again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def skip_foreign(
    app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out what classes inherit from other libraries, which have pages about it."""
    home = getattr(obj.fget if isinstance(obj, property) else obj, "__module__", None) or "covshift"
    return None if home.startswith("covshift") else True


def generate(app: Sphinx, config: Config) -> None:
    """Write all pages, and remove those of names that are gone."""
    from sphinx.ext.autodoc.mock import mock

    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    pages, written = examples(Path(app.srcdir)), set()
    drawn = gallery(Path(app.srcdir).parent / "examples" / "gallery")
    with mock(config.autodoc_mock_imports):
        public = public_names()
    for module, names in public.items():
        made = {module: module_page(module, names)}
        for entry in names:
            used, shown = pages_with(entry.name, pages), pages_with(entry.name, drawn)
            made[entry.full] = name_page(entry, used, shown)
        for stem, text in made.items():
            write(folder / f"{stem}.rst", text)
            written.add(f"{stem}.rst")
    for path in folder.glob("*.rst"):
        if path.name not in written:
            path.unlink()


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages as soon as the configuration is there."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("config-inited", generate)
    app.connect("autodoc-skip-member", skip_foreign)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
