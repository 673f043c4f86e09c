"""What builds candidates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from ..._ffi import register_object
from ...ir import IRModule
from ...runtime import Object
from ...target import Target
from .. import _ffi_api

__all__ = ["Builder", "BuilderInput", "BuilderResult", "PyBuilder", "create"]


@register_object("meta_schedule.BuilderInput")
class BuilderInput(Object):
    """A module to build for a target."""

    mod: IRModule
    target: Target

    def __init__(self, mod: IRModule, target: Target, params: dict[str, Any] | None = None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.BuilderInput, mod, target, params)


@register_object("meta_schedule.BuilderResult")
class BuilderResult(Object):
    """Where the library is, or what went wrong."""

    artifact_path: str | None
    error_msg: str | None

    def __init__(self, artifact_path: str | None, error_msg: str | None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.BuilderResult, artifact_path, error_msg)


class Builder:
    """Builds candidates."""

    def build(self, build_inputs: list[BuilderInput]) -> list[BuilderResult]:
        """What comes of each."""
        raise NotImplementedError


class _PyBuilder(Builder):
    _f_build: Callable | None

    def __init__(self, f_build: Callable | None = None) -> None:
        self.__dict__["_f_build"] = f_build

    def build(self, build_inputs: list[BuilderInput]) -> list[BuilderResult]:
        if self._f_build is None:
            raise NotImplementedError("PyBuilder's build method is not implemented")
        return list(self._f_build(build_inputs))


class PyBuilder:
    """A builder in Python: override `build`, and decorate the class with `derived_object`."""

    _tvm_metadata: ClassVar[dict[str, Any]] = {"cls": _PyBuilder, "methods": ["build"]}

    def build(self, build_inputs: list[BuilderInput]) -> list[BuilderResult]:
        """What comes of each."""
        raise NotImplementedError


def create(kind: str = "local", *args: Any, **kwargs: Any) -> Builder:
    """A builder of a kind: "local"."""
    from . import LocalBuilder

    if kind == "local":
        return LocalBuilder(*args, **kwargs)
    raise ValueError(f"Unknown Builder: {kind}; there is local")
