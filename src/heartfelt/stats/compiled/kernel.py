"""Loops that numba compiles when their input is large, and that Python runs as they are when it is small.

Compiling a loop takes from .1 to several seconds on the first run on a machine, and even loading numba takes half a
second; a loop over a few hundred ratings takes Python milliseconds. So the first small calls of a process are interpreted, and a
loop that is called with a large input, or again and again, as in a simulation, is compiled from then on. The choice depends on
the sizes of the arguments so far, never on time or on what other runs have compiled, so that the same program gives the same
numbers every time. The two forms agree to rounding. With ``HEARTFELT_COMPILE=1`` every loop is compiled at its first call.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property, update_wrapper
from threading import local
from typing import Any, TypeVar, cast, overload

import numpy as np

SMALL = 8000
"""Numbers in the arguments of a loop over ratings up to which Python runs it as fast as it can be loaded."""
IN_ALL = 250_000
"""Numbers that a loop interprets in all before it is compiled: about the time that compiling takes."""
ALWAYS = bool(os.environ.get("HEARTFELT_COMPILE"))
F = TypeVar("F", bound=Callable[..., Any])


class _Interpreting(local):
    """Per thread, whether a loop is being interpreted; then the loops it calls are, too."""

    active = False


_INTERPRETING = _Interpreting()


class Kernel:
    """A function that numba can compile. Calls with fewer than ``interpret_below`` numbers in their arrays are interpreted,
    until they had ``interpret_in_all`` numbers together.

    Inside compiled functions it stands for its compiled form.
    """

    def __init__(self, function: Callable[..., Any], interpret_below: int = 0, interpret_in_all: int = IN_ALL) -> None:
        update_wrapper(self, function)
        self.__name__: str = function.__name__
        self.function = function
        self.interpret_below = interpret_below
        self.interpret_in_all = interpret_in_all
        self._interpreted_so_far = 0

    @cached_property
    def compiled(self) -> Any:
        """The function as numba compiles it, its machine code kept on disk; numba is imported here."""
        from numba import njit

        return njit(cache=True, nogil=True)(self.function)

    @property
    def _numba_type_(self) -> Any:
        return self.compiled._numba_type_

    def __call__(self, *args: Any) -> Any:
        if _INTERPRETING.active:
            return self.function(*args)
        if self.interpret_below and not ALWAYS and self._interpreted_so_far < self.interpret_in_all:
            size = _numbers(args)
            if size < self.interpret_below:
                self._interpreted_so_far += size
                return self.interpreted(*args)
            # What a large call has compiled serves small ones from then on.
            self._interpreted_so_far = self.interpret_in_all
        return self.compiled(*args)

    def interpreted(self, *args: Any) -> Any:
        """Run as Python code, with the arithmetic of compiled code: integers wrap, division by zero gives infinity."""
        _INTERPRETING.active = True
        try:
            # Compiled code never warns of overflow or division by zero.
            with np.errstate(all="ignore"):
                return self.function(*args)
        finally:
            _INTERPRETING.active = False


@contextmanager
def compiling_at_once() -> Iterator[None]:
    """Compile every loop at its first call, so that numbers do not depend on which of several threads calls first."""
    global ALWAYS
    before, ALWAYS = ALWAYS, True
    try:
        yield
    finally:
        ALWAYS = before


def _numbers(values: Iterable[Any]) -> int:
    """How many numbers the arrays among the values hold, those in tuples included."""
    total = 0
    for value in values:
        if isinstance(value, np.ndarray):
            total += value.size
        elif isinstance(value, tuple):
            total += _numbers(value)
    return total


@overload
def compiled(function: F) -> F: ...
@overload
def compiled(*, interpret_below: int, interpret_in_all: int = ...) -> Callable[[F], F]: ...
def compiled(
    function: F | None = None, *, interpret_below: int = 0, interpret_in_all: int = IN_ALL
) -> F | Callable[[F], F]:
    """Compile a function with numba at its first call; with ``interpret_below``, small calls are interpreted for a while."""
    if function is not None:
        return cast(F, Kernel(function))
    return lambda function: cast(F, Kernel(function, interpret_below, interpret_in_all))
