"""Many small cases in one test: as ``pytest.mark.parametrize``, without the cost of collecting and starting each.

Every case runs, whatever the others do; the test fails with the name and the reason of each that failed. For cases that are quick
and a loop over the same assertion; what takes long stays parametrised, so that workers share it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import Any

import pytest

Test = Callable[..., None]


def _case_name(values: Sequence[Any], index: int) -> str:
    words = [value.__name__ if hasattr(value, "__name__") else f"{value!s}" for value in values]
    return f"{index} ({', '.join(word if len(word) <= 80 else word[:77] + '...' for word in words)})"


def check_all(
    names: str | Sequence[str], cases: Iterable[Any], ids: Callable[[Any], Any] | Iterable[str] | None = None
) -> Callable[[Test], Test]:
    """Call the test once for every case. ``tmp_path`` and ``monkeypatch`` are new for every case."""
    columns = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    rows = [tuple(case) if len(columns) > 1 else (case,) for case in cases]
    if callable(ids):
        labels = [str(ids(values[0])) for values in rows]
    else:
        labels = list(ids) if ids is not None else [_case_name(row, index) for index, row in enumerate(rows)]
    assert rows, "no cases"
    assert len(labels) == len(rows)
    assert all(len(row) == len(columns) for row in rows)

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def every_case(*instance: Any, **fixtures: Any) -> None:
            failures: list[str] = []
            first: BaseException | None = None
            for index, (label, row) in enumerate(zip(labels, rows, strict=True)):
                with ExitStack() as stack:
                    arguments = fixtures | dict(zip(columns, row, strict=True))
                    if "tmp_path" in fixtures:
                        arguments["tmp_path"] = fixtures["tmp_path"] / str(index)
                        arguments["tmp_path"].mkdir()
                    if "monkeypatch" in fixtures:
                        arguments["monkeypatch"] = stack.enter_context(pytest.MonkeyPatch.context())
                    try:
                        test(*instance, **arguments)
                    except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001  # whatever a case raises is a finding
                        failures.append(f"{label}: {type(error).__name__}: {error}")
                        first = first or error
            if failures:
                message = f"{len(failures)} of {len(rows)} cases failed"
                raise AssertionError("\n\n".join([message, *failures])) from first

        signature = inspect.signature(test)
        parameters = [p for name, p in signature.parameters.items() if name not in columns]
        assert len(parameters) == len(signature.parameters) - len(columns), f"an argument is none of {columns}"
        every_case.__dict__["__signature__"] = signature.replace(parameters=parameters)
        return every_case

    return decorate
