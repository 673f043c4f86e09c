"""The compiler of Android's NDK as a linker."""

from __future__ import annotations

import os
from collections.abc import Sequence

from . import cc as _cc

__all__ = ["create_shared", "create_staticlib"]


def _compiler() -> str:
    compiler = os.environ.get("TVM_NDK_CC")
    if not compiler:
        raise RuntimeError(
            "set TVM_NDK_CC to the clang++ of an Android NDK for the device, such as aarch64-linux-android24-clang++"
        )
    return compiler


def create_shared(output: str, objects: Sequence[str] | str, options: Sequence[str] | str | None = None) -> None:
    """Links objects into a shared library by the compiler that $TVM_NDK_CC names."""
    _cc.create_shared(output, objects, options, cc=_compiler())


create_shared.output_format = "so"  # type: ignore[attr-defined]
create_shared.get_target_triple = (  # type: ignore[attr-defined]
    lambda: _cc.get_target_by_dump_machine(os.environ["TVM_NDK_CC"])() if "TVM_NDK_CC" in os.environ else None
)


def create_staticlib(output: str, inputs: Sequence[str] | str) -> None:
    """Packs objects into a static library by the `llvm-ar` beside the compiler."""
    _cc.create_staticlib(output, inputs, ar=os.path.join(os.path.dirname(_compiler()), "llvm-ar"))


create_staticlib.output_format = "a"  # type: ignore[attr-defined]
