"""LAPACK calls during which other threads may work.

SciPy's wrappers of these routines keep the interpreter's lock, so that two of them never run at a
time. The routines themselves are those that `scipy.linalg.cython_lapack` offers to compiled code.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cython_lapack

from ._types import Real


def cholesky(S: Real) -> Real | None:
    """Return L with S = LL', of which the lower triangle is read; None where there is none."""
    L = np.array(S, dtype=np.float64, order="F")
    N = len(L)
    if _call("dpotrf", b"L", N, L, N) != 0:
        return None
    for column in range(1, N):
        L[:column, column] = 0
    return L


def congruence(K: Real, L: Real) -> Real:
    """L'KL with half of the work of two products; lower triangles of K and of the answer."""
    product = np.array(K, dtype=np.float64, order="F")
    N = len(product)
    _check("dsygst", _call("dsygst", 2, b"L", N, product, N, np.asfortranarray(L), N))
    return product


def tridiagonal(S: Real) -> tuple[Real, Real, Real, Real]:
    """S = Q T Q', lower triangle: the reflectors of Q, T's diagonal and what is below it, tau."""
    reflectors = np.array(S, dtype=np.float64, order="F")
    N = len(reflectors)
    d, e, tau, work = np.empty(N), np.empty(N - 1), np.empty(N - 1), np.empty(64 * N)
    info = _call("dsytrd", b"L", N, reflectors, N, d, e, tau, work, len(work))
    _check("dsytrd", info)
    return reflectors, d, e, tau


def _check(name: str, info: int) -> None:
    if info != 0:
        raise LinAlgError(f"{name} failed with info = {info}.")


def _call(name: str, *arguments: Any) -> int:
    """Call a routine, which changes the arrays, and return its info."""
    info = ctypes.c_int()
    values = [_value(argument) for argument in arguments]  # which have to outlive the call
    _routine(name)(*[_address(value) for value in values], ctypes.addressof(info))
    return info.value


def _value(argument: Any) -> Any:
    if isinstance(argument, bytes):
        return ctypes.c_char(argument)
    return ctypes.c_int(argument) if isinstance(argument, int) else argument


def _address(value: Any) -> int:
    return int(value.ctypes.data) if isinstance(value, np.ndarray) else ctypes.addressof(value)


@cache
def _routine(name: str) -> Callable[..., None]:
    capsule = cython_lapack.__pyx_capi__[name]
    interface = ctypes.pythonapi
    interface.PyCapsule_GetName.restype = ctypes.c_char_p
    interface.PyCapsule_GetName.argtypes = [ctypes.py_object]
    interface.PyCapsule_GetPointer.restype = ctypes.c_void_p
    interface.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    signature = interface.PyCapsule_GetName(capsule)
    pointer = interface.PyCapsule_GetPointer(capsule, signature)
    kinds = [ctypes.c_void_p] * signature.count(b"*")
    return ctypes.CFUNCTYPE(None, *kinds)(pointer)  # which frees the lock
