"""Every place at which a command touches the disk to write: what happens there is up to a test."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
from unittest import mock

CALLS = ("fsync", "chmod", "link", "replace", "unlink")


@contextlib.contextmanager
def at_every_write(action):
    """Call ``action(number, name)`` before every write, half-way through it, and before renames.

    A write is done in two halves, with the action in between: what a kill there leaves behind is
    half of the bytes.
    """
    count = 0

    def tick(name):
        nonlocal count
        count += 1
        action(count, name)

    class Raw(io.FileIO):
        def write(self, data):
            data = bytes(data)
            tick("before a write")
            done = super().write(data[: len(data) // 2])
            tick("half-way through a write")
            return done + super().write(data[done:])

    def opened(descriptor, mode):
        return io.BufferedWriter(Raw(descriptor, mode))

    def watched(name, call):
        def wrapper(*given, **options):
            tick(name)
            return call(*given, **options)

        return wrapper

    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(os, "fdopen", opened))
        stack.enter_context(
            mock.patch.object(tempfile, "mkstemp", watched("mkstemp", tempfile.mkstemp))
        )
        for name in CALLS:
            stack.enter_context(mock.patch.object(os, name, watched(name, getattr(os, name))))
        yield
