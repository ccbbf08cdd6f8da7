"""Warnings kept from the user, or read by us, in the calling thread alone.

`warnings.catch_warnings` swaps the filters of the whole process: in several threads at once, one
puts back what another had set for a moment, and warnings vanish for good. Here one filter stands
in front of the others while anybody needs it, and it matches only for whom asked. Nobody's list
of filters is replaced, and other threads' warnings go where they always went.
"""

from __future__ import annotations

import os
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from typing import Any, NamedTuple, cast


class Heard(NamedTuple):
    """A warning that was not shown."""

    category: type[Warning]
    text: str


class _Listener(NamedTuple):
    categories: tuple[type[Warning], ...]
    pattern: re.Pattern[str]
    tell: Callable[[Heard], object]

    def takes(self, category: type[Warning], text: str) -> bool:
        return issubclass(category, self.categories) and bool(self.pattern.match(text))


_listeners: ContextVar[tuple[_Listener, ...]] = ContextVar("covshift_listeners", default=())


@contextmanager
def quiet(*categories: type[Warning], message: str = "", when: bool = True) -> Iterator[None]:
    """Drop warnings of these categories (none named: all) whose text starts with a pattern."""
    with _told(lambda _: None, categories, message) if when else nullcontext():
        yield


@contextmanager
def heard(*categories: type[Warning]) -> Iterator[list[Heard]]:
    """Collect warnings of these categories (none named: all) in a list, and show none of them."""
    found: list[Heard] = []
    with listening(found.append, *categories):
        yield found


@contextmanager
def listening(tell: Callable[[Heard], object], *categories: type[Warning]) -> Iterator[None]:
    """Hand warnings to a function. Blocks may be nested: the innermost that fits takes one."""
    with _told(tell, categories, ""):
        _forget_what_was_shown()
        yield


@contextmanager
def _told(
    tell: Callable[[Heard], object], categories: tuple[type[Warning], ...], message: str
) -> Iterator[None]:
    listener = _Listener(categories or (Warning,), re.compile(message, re.IGNORECASE), tell)
    before = _listeners.set((*_listeners.get(), listener))
    try:
        with _in_front:
            yield
    finally:
        _listeners.reset(before)


@contextmanager
def alone(when: bool = True) -> Iterator[None]:
    """Call scikit-learn in one thread at a time: its checks use `warnings.catch_warnings`.

    For what is ours to fit and to check, and short. Models of the user run in as many threads as
    the user likes; their filters are then as safe as scikit-learn keeps them.
    """
    if not when:
        yield
        return
    with _in_front.turn, _in_front:
        yield


_seen = threading.local()


class _AnyText:
    """Stands where a filter has the pattern of its message, and remembers what it was shown."""

    pattern = ""  # scikit-learn builds the filters anew from what they hold

    def match(self, text: str) -> bool:
        _seen.text = text
        return bool(_listeners.get())


class _OfListeners(type):
    def __subclasscheck__(cls, category: Any) -> bool:
        text = vars(_seen).pop("text", "")  # none where somebody rebuilt the filter
        for listener in reversed(_listeners.get()):
            if listener.takes(category, text):
                listener.tell(Heard(category, text))
                return True
        return False


class _Taken(Warning, metaclass=_OfListeners):
    """Category of the one filter. Which warnings belong to it depends on who asks."""


_FILTER: Any = ("ignore", _AnyText(), _Taken, None, 0)


class _InFront:
    """Keep our filter first in the list for as long as anybody is inside."""

    def __init__(self) -> None:
        self.turn, self._lock = threading.RLock(), threading.Lock()
        self._inside = 0
        self._lists: list[list[Any]] = []  # a caller's catch_warnings makes another one

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            filters = _filters()
            if not filters or filters[0] is not _FILTER:
                filters.insert(0, _FILTER)
                self._lists.append(filters)

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside = max(0, self._inside - 1)
            if self._inside == 0:
                self._leave()

    def _leave(self) -> None:
        for filters in (*self._lists, _filters()):  # the last is perhaps somebody's copy
            while _FILTER in filters:
                filters.remove(_FILTER)
        self._lists = []

    def in_forked_child(self) -> None:
        """Of the parent's threads, the child has the one that forked."""
        self.turn, self._lock = threading.RLock(), threading.Lock()
        self._inside = len(_listeners.get())
        if self._inside == 0:
            self._leave()


_in_front = _InFront()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_front.in_forked_child)


def _filters() -> list[Any]:
    return cast("list[Any]", warnings.filters)


def _forget_what_was_shown() -> None:
    """Let a warning that was shown before be heard again: any change of the filters does that."""
    never: Any = ("ignore", None, _Never, None, 0)
    warnings.simplefilter("ignore", _Never, append=True)
    with suppress(ValueError):
        _filters().remove(never)


class _Never(Warning):
    """Nobody warns of this."""
