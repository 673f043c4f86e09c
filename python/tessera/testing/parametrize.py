"""Parameters and fixtures of tests."""

from __future__ import annotations

import copy
import functools
import inspect
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import pytest

__all__ = [
    "exclude_targets",
    "fixture",
    "known_failing_targets",
    "parameter",
    "parameters",
    "parametrize_targets",
    "skip_parameterizations",
    "xfail_parameterizations",
]

_groups = itertools.count()


def _decorator_of_targets(name: str, targets: tuple[Any, ...]) -> Any:
    def apply(function: Any) -> Any:
        setattr(function, name, list(targets))
        return function

    return apply


def parametrize_targets(*args: Any) -> Any:
    """Runs a test once for each target given, or, used bare, for each enabled one.

    The test takes `target` and, if it wants, `dev`. Targets that cannot run here are skipped.
    """
    if len(args) == 1 and callable(args[0]):
        return args[0]
    names = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
    return pytest.mark.parametrize("target", list(names), scope="session")


def exclude_targets(*args: str) -> Any:
    """Leaves targets out of those a test is run for by itself."""
    return _decorator_of_targets("tvm_excluded_targets", args)


def known_failing_targets(*args: str) -> Any:
    """Expects a test to fail on these targets."""
    return _decorator_of_targets("tvm_known_failing_targets", args)


def parameter(*values: Any, ids: Any = None, by_dict: dict[str, Any] | None = None) -> Any:
    """A fixture with several values: every test that takes it runs once for each.

    Assigned to a name, at the top of a module or in a class: ``size = tvm.testing.parameter(1, 16)``.
    """
    if by_dict is not None:
        if values or ids:
            raise RuntimeError("Use of the by_dict parameter cannot be used alongside positional arguments")
        ids, values = tuple(by_dict), tuple(by_dict.values())
    return pytest.fixture(_picked, params=values, ids=ids)


def parameters(*value_sets: Sequence[Any], ids: Any = None) -> list[Any]:
    """Several fixtures whose values go together: ``x, y = tvm.testing.parameters((1, 2), (3, 4))``.

    The plugin makes the combinations; see `tessera.testing.plugin`.
    """
    group = next(_groups)
    return [pytest.fixture(_parameter_fixture(group, values, ids)) for values in zip(*value_sets)]


def _picked(*instance: Any, request: Any) -> Any:  # of the test class, where the fixture is an attribute of one
    del instance
    return request.param


def _parameter_fixture(group: int, values: Sequence[Any], ids: Any) -> Callable[..., Any]:
    def pick(*instance: Any, request: Any) -> Any:
        return _picked(*instance, request=request)

    pick.parametrize_group = group  # type: ignore[attr-defined]
    pick.parametrize_values = values  # type: ignore[attr-defined]
    pick.parametrize_ids = ids  # type: ignore[attr-defined]
    return pick


def fixture(func: Callable[..., Any] | None = None, *, cache_return_value: bool = False) -> Any:
    """A pytest fixture; with `cache_return_value` equal arguments are computed once and copied for each test."""

    def apply(function: Callable[..., Any]) -> Any:
        return pytest.fixture(_cached(function) if cache_return_value else function)

    return apply if func is None else apply(func)


def _cached(function: Callable[..., Any]) -> Callable[..., Any]:
    known: dict[Any, Any] = {}

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        key = repr((args, sorted(kwargs.items())))
        if key not in known:
            known[key] = function(*args, **kwargs)
        return copy.deepcopy(known[key])

    wrapper.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return wrapper


def _for_parameterizations(params: tuple[str, ...], act: Callable[[Any], None]) -> Any:
    def apply(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(request: Any, *args: Any, **kwargs: Any) -> Any:
            name = request.node.name
            if "[" in name and name[name.index("[") + 1 : -1] in params:
                act(request)
            return function(*args, **kwargs)

        old = inspect.signature(function)
        request = inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        wrapper.__signature__ = old.replace(parameters=[request, *old.parameters.values()])  # type: ignore[attr-defined]
        return wrapper

    return apply


def xfail_parameterizations(*xfail_params: str, reason: str) -> Any:
    """Expects a test to fail for these parameter ids."""
    return _for_parameterizations(xfail_params, lambda request: request.applymarker(pytest.mark.xfail(reason=reason)))


def skip_parameterizations(*skip_params: str, reason: str) -> Any:
    """Skips a test for these parameter ids."""
    return _for_parameterizations(skip_params, lambda request: pytest.skip(reason))
