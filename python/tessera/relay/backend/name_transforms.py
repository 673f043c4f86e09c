"""Names for generated C: prefixes, and the characters and cases that C allows."""

from __future__ import annotations

import re

__all__ = [
    "prefix_generated_name",
    "prefix_name",
    "sanitize_name",
    "to_c_constant_style",
    "to_c_function_style",
    "to_c_variable_style",
]

_PREFIX, _GENERATED = "TVM", "Gen"


def _checked(name: str, what: str) -> str:
    if not name:
        raise ValueError(f"{what} name is empty")
    if not name.startswith(_PREFIX):
        raise ValueError(f"{what} not TVM prefixed")
    return name


def to_c_function_style(original_name: str) -> str:
    """TVMSomeName of TVM_some_name."""
    parts = _checked(original_name, "Function").split("_")
    return "".join(part[:1].upper() + part[1:] for part in parts)


def to_c_variable_style(original_name: str) -> str:
    """tvm_some_name of TVM_Some_Name."""
    return _checked(original_name, "Variable").lower()


def to_c_constant_style(original_name: str) -> str:
    """TVM_SOME_NAME of TVM_some_name."""
    return _checked(original_name, "Constant").upper()


def _with_underscores(names: list[str] | str) -> str:
    if isinstance(names, str):
        if not names:
            raise ValueError("Name is empty")
        return names
    if not names:
        raise ValueError("Name segments empty")
    if not all(names):
        raise ValueError("Name segment is empty")
    return "_".join(names)


def prefix_name(names: list[str] | str) -> str:
    """TVM_a_b of ["a", "b"]."""
    return f"{_PREFIX}_{_with_underscores(names)}"


def prefix_generated_name(names: list[str] | str) -> str:
    """TVMGen_a_b of ["a", "b"]."""
    return f"{_PREFIX}{_GENERATED}_{_with_underscores(names)}"


def sanitize_name(original_name: str) -> str:
    """The name with "_" for each character that C has not."""
    if not original_name:
        raise ValueError("Name is empty")
    return re.sub(r"[^a-zA-Z0-9_]", "_", original_name)
