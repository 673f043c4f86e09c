"""Helpers for tools that read scripts."""

from __future__ import annotations

import inspect
from typing import Any, Callable

from ..error import DiagnosticError

__all__ = ["call_with_error_reporting", "get_param_list"]


def get_param_list(func: Callable) -> tuple[list[str], list[tuple[str, Any]], str | None]:
    """The parameters of a function: names without a default, pairs of those with one, and the name of `*args`."""
    required, optional, rest = [], [], None
    for parameter in inspect.signature(func).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            raise RuntimeError(f"TVM Script register error : variable keyword argument is not allowed in {func}")
        if parameter.kind is parameter.VAR_POSITIONAL:
            rest = parameter.name
        elif parameter.default is parameter.empty:
            required.append(parameter.name)
        else:
            optional.append((parameter.name, parameter.default))
    return required, optional, rest


def call_with_error_reporting(report_error: Callable, node_span: Any, func: Callable, *args: Any, **kwargs: Any) -> Any:
    """Calls a function; what goes wrong is reported at `node_span`, unless it is a diagnostic already."""
    try:
        return func(*args, **kwargs)
    except DiagnosticError:
        raise
    except Exception as error:
        return report_error(str(error), node_span)
