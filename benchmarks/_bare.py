"""Stand-ins for pydantic and lazy_loader, for a machine with PyTorch on which nothing can be installed.

They do just enough to build a generator's settings from keyword arguments; nothing is validated. Importing this module puts them
in place of what is not installed, so import it before anything of heartfelt.
"""

from __future__ import annotations

import copy
import importlib.util
import sys
import types
from typing import Any, ClassVar


class BaseModel:
    """Attributes by keyword, with the defaults of the class."""

    model_fields: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.model_fields = {
            name: getattr(cls, name, None)
            for parent in reversed(cls.__mro__)
            for name, kind in vars(parent).get("__annotations__", {}).items()
            if not name.startswith("_") and "ClassVar" not in str(kind)
        }

    def __init__(self, **given: Any) -> None:
        unknown = sorted(set(given) - set(self.model_fields))
        if unknown:
            raise TypeError(f"{type(self).__name__} has no field '{unknown[0]}'")
        for name, usual in self.model_fields.items():
            setattr(self, name, given.get(name, copy.deepcopy(usual)))
        self.model_post_init(None)

    def model_post_init(self, context: Any) -> None:
        """What a class does once its fields are set."""

    def model_dump(self, exclude_none: bool = False) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in self.model_fields}
        return {name: value for name, value in values.items() if value is not None or not exclude_none}


def _nothing(*args: Any, **options: Any) -> None:
    """In place of Field: annotations are not looked at."""
    del args, options


def _unchanged(*args: Any, **options: Any) -> Any:
    """In place of the decorators: functions stay as they are."""
    del args, options
    return lambda function: function


def _attach(name: str, file: str) -> tuple[Any, Any, list[str]]:
    del file

    def missing(attribute: str) -> Any:
        raise AttributeError(f"{name} has no '{attribute}' without lazy_loader")

    return missing, list, []


def use_stand_ins() -> list[str]:
    """Put stand-ins in place of what is not installed; return their names."""
    out = []
    if importlib.util.find_spec("pydantic") is None:
        module: Any = types.ModuleType("pydantic")
        module.BaseModel, module.ConfigDict = BaseModel, dict
        module.Field = module.PrivateAttr = _nothing
        module.field_validator = module.model_validator = _unchanged
        module.ValidationError = ValueError
        sys.modules["pydantic"] = module
        out.append("pydantic")
    if importlib.util.find_spec("lazy_loader") is None:
        lazy: Any = types.ModuleType("lazy_loader")
        lazy.attach_stub = _attach
        sys.modules["lazy_loader"] = lazy
        out.append("lazy_loader")
    return out


STAND_INS = use_stand_ins()
