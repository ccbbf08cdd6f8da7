"""scikit-learn without what a command does not use of it.

``import sklearn`` loads all of scipy.stats, for four names, and pandas wherever it is installed:
more than half of its time. A command imports it while stand-ins hold the places of such modules.
Who takes anything else from a stand-in, or uses what it gave, gets it from the true module, which
is then imported: nothing changes but the time. This is for the process of the command line, which
no one shares with it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

_DEFERRED = {
    "scipy.stats": {"chi2", "gmean", "rankdata", "spearmanr"},
    "scipy.integrate": {"trapezoid"},
    "scipy.interpolate": {"BSpline"},
}
"""What modules of scikit-learn take when they are imported, and use in functions only."""

_UNTIL_IMPORTED = ("asyncio", "numpy.f2py", "numpy.testing", "pandas")
"""Names given back at once: other code asks ``sys.modules`` whether pandas is there."""


def import_scikit_learn() -> None:
    """Import scikit-learn, unless it is there, without pandas, scipy.stats and the like."""
    if "sklearn" in sys.modules:
        return
    before = set(sys.modules)
    standing = [made for name in (*_DEFERRED, *_UNTIL_IMPORTED) if (made := StandIn.of(name))]
    for module in standing:
        module.place()
    try:
        import_module("sklearn.utils.fixes")
    except Exception:  # another version that asks for more: the plain import, which takes longer
        for module in standing:
            module.leave()
        for name in set(sys.modules) - before:
            if name.partition(".")[0] == "sklearn":
                del sys.modules[name]
        import_module("sklearn")
    finally:
        for module in standing:
            if module.__name__ in _UNTIL_IMPORTED:
                module.leave()


class StandIn(ModuleType):
    """A module that is imported when something is taken from it."""

    def __init__(self, name: str, path: list[str]) -> None:
        super().__init__(name)
        self.__path__ = path  # its submodules can be imported without it

    @classmethod
    def of(cls, name: str) -> StandIn | None:
        """Return a stand-in; None for a module that is imported already, or not installed."""
        spec = None if name in sys.modules else find_spec(name)
        return None if spec is None else cls(name, list(spec.submodule_search_locations or ()))

    def place(self) -> None:
        """Be what an import of this name finds."""
        sys.modules[self.__name__] = self
        parent, _, own = self.__name__.rpartition(".")
        if parent:
            setattr(sys.modules[parent], own, self)

    def leave(self) -> None:
        """Let the next import of this name find the true module."""
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        parent, _, own = self.__name__.rpartition(".")
        if parent and vars(sys.modules[parent]).get(own) is self:
            delattr(sys.modules[parent], own)

    def __getattr__(self, name: str) -> Any:
        if name in _DEFERRED.get(self.__name__, ()):
            return Deferred(self, name)
        return getattr(self.imported(), name)

    def imported(self) -> ModuleType:
        """Return the true module."""
        self.leave()
        return import_module(self.__name__)


class Deferred:
    """A function or distribution of a module that is imported when this is used."""

    def __init__(self, home: StandIn, name: str) -> None:
        self._home, self._name = home, name

    def __call__(self, *given: Any, **options: Any) -> Any:
        """Call the function."""
        return self._found()(*given, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._found(), name)

    def _found(self) -> Any:
        return getattr(self._home.imported(), self._name)
