"""Works that a methods section cites, and how."""

from __future__ import annotations

from importlib.resources import files

_LISTED = files(__package__).joinpath("works.txt").read_text(encoding="utf-8")
WORKS = dict(line.split(": ", 1) for line in _LISTED.splitlines())
"""What is cited: authors, year, title, and where it appeared."""


class Cited:
    """Works that the text cites, in the order of their authors at its end."""

    def __init__(self) -> None:
        self.keys: set[str] = set()

    def __call__(self, *keys: str) -> str:
        """Cite works in parentheses: "(Kish 1965; Breiman 1996)"; nothing for none."""
        self.keys |= set(keys)
        return f"({'; '.join(map(self._short, keys))})" if keys else ""

    @staticmethod
    def _short(key: str) -> str:
        authors, _, rest = WORKS.get(key, key).partition(" (")
        names = authors.replace(" and ", ", ").split(", ")
        many = len(names) > 3 or authors.endswith("et al.")
        first = names[0].removesuffix(" et al.")
        return f"{f'{first} et al.' if many else authors} {rest[:4]}"

    @property
    def lines(self) -> list[str]:
        """One line per work."""
        works = sorted((WORKS.get(key, key) for key in self.keys), key=_letters)
        return [f"- {work}" if " doi:" in work else f"- {work}." for work in works]


def _letters(work: str) -> str:
    """The letters by which a list of works is sorted."""
    plain_letters = str.maketrans("äáéöüł", "aaeoul")
    return work.casefold().removeprefix("the ").translate(plain_letters)
