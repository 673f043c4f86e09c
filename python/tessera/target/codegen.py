"""Code generation for one target, and facts about the LLVM that is built in."""

from __future__ import annotations

from typing import Any

import tessera._ffi


def build_module(mod: Any, target: Any) -> Any:
    """The runtime module of lowered functions for one target."""
    from .target import Target

    target = target if isinstance(target, Target) else Target(target)
    build = tessera._ffi.get_global_func(f"target.build.{target.kind.name}", allow_missing=True)
    if build is None:
        raise ValueError(f"no code generator for target kind {target.kind.name!r} is built in")
    return build(mod, target)


def llvm_lookup_intrinsic_id(name: str) -> int:
    """LLVM's number for the intrinsic `name` ("llvm.ctpop.i32"); 0 when there is none."""
    return tessera._ffi.get_global_func("target.llvm_lookup_intrinsic_id")(name)


def llvm_get_intrinsic_name(intrin_id: int) -> str:
    """The name of an LLVM intrinsic."""
    return tessera._ffi.get_global_func("target.llvm_get_intrinsic_name")(intrin_id)


def llvm_version_major(allow_none: bool = False) -> int | None:
    """The major version of the LLVM that is built in."""
    version = tessera._ffi.get_global_func("target.llvm_version_major", allow_missing=allow_none)
    return None if version is None else version()
