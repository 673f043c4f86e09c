"""The pytest plugin: runs tests that take `target` for every target that can run here.

In a conftest.py: ``pytest_plugins = ["tessera.testing.plugin"]`` (or ``tvm.testing.plugin``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ..runtime.ndarray import device
from .targets import Feature, _get_targets

_TARGET_PARAMETERS = ("target", "dev")


def pytest_configure(config: pytest.Config) -> None:
    """Makes the marks of features known."""
    for name, feature in Feature._all_features.items():
        config.addinivalue_line("markers", f"{name}: needs {feature.long_name}")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Combinations of `tvm.testing.parameters`, and targets for tests that take `target` or `dev`."""
    _parametrize_groups(metafunc)
    if any(name in metafunc.fixturenames for name in _TARGET_PARAMETERS):
        _parametrize_targets(metafunc)


def pytest_collection_modifyitems(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Gives each test of a target the marks of that target."""
    for item in items:
        callspec = getattr(item, "callspec", None)
        target = callspec.params.get("target") if callspec is not None else None
        kind = _kind_of(target)
        if kind is None:
            continue
        feature = Feature._all_features.get(kind)
        if feature is not None:
            for mark in feature.marks("optional"):
                item.add_marker(mark)
        state = _get_targets([target if isinstance(target, str) else kind])[0]
        if not state["is_runnable"]:
            item.add_marker(pytest.mark.skip(reason=f"{target} cannot run here"))


@pytest.fixture
def dev(target: Any) -> Any:
    """The device of the test's target."""
    return device(_kind_of(target) or "", 0)


def _kind_of(target: Any) -> str | None:
    """The kind of a target, also where a host comes with it in a pair."""
    if isinstance(target, (list, tuple)) and target:
        target = target[0]
    if isinstance(target, str):
        words = target.split()
        return words[0] if words else None
    return getattr(getattr(target, "kind", None), "name", None)


def _is_parametrized(metafunc: pytest.Metafunc, name: str) -> bool:
    for mark in metafunc.definition.iter_markers("parametrize"):
        names = mark.args[0] if mark.args else mark.kwargs.get("argnames", "")
        names = [each.strip() for each in names.split(",")] if isinstance(names, str) else list(names)
        if name in names:
            return True
    return False


def _parametrize_targets(metafunc: pytest.Metafunc) -> None:
    if _is_parametrized(metafunc, "target"):
        return
    excluded = getattr(metafunc.function, "tvm_excluded_targets", [])
    failing = getattr(metafunc.function, "tvm_known_failing_targets", [])
    params = []
    for state in _get_targets():
        if state["target_kind"] in excluded or not state["is_runnable"]:
            continue
        is_failing = state["target_kind"] in failing
        marks = [pytest.mark.xfail(reason=f"known to fail on {state['target']}")] if is_failing else []
        params.append(pytest.param(state["target"], marks=marks))
    # One more mark, so that targets come last in the id of a test.
    metafunc.definition.add_marker(pytest.mark.parametrize("target", params, scope="session"))


def _parametrize_groups(metafunc: pytest.Metafunc) -> None:
    groups: dict[int, list[tuple[str, Any]]] = {}
    for name, definitions in metafunc.definition._fixtureinfo.name2fixturedefs.items():
        function = definitions[-1].func
        if hasattr(function, "parametrize_group"):
            groups.setdefault(function.parametrize_group, []).append((name, function))
    for members in groups.values():
        names = [name for name, _ in members]
        values = list(zip(*(function.parametrize_values for _, function in members)))
        ids = members[0][1].parametrize_ids
        if len(names) == 1:
            metafunc.parametrize(names[0], [value[0] for value in values], indirect=True, ids=ids)
        else:
            metafunc.parametrize(names, values, indirect=True, ids=ids)
