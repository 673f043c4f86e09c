"""C source for a UMA backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ......_ffi.registry import get_global_func, register_func
from ......driver import build
from ......ir import GlobalVar, IRModule

__all__ = ["UMACodegen"]


class UMACodegen:
    """Writes the loops of functions as C, with the backend's includes in front."""

    def __init__(self, target_name: str) -> None:
        self.target_name = target_name
        self._is_c = False
        self._includes: Callable[[], str] | None = None

    def _register_codegen(self, fmt: str = "c", **kwargs: Any) -> None:
        if fmt != "c":
            raise RuntimeError(f'Unsupported codegen format "{fmt}"')
        self._register_c_codegen(**kwargs)

    def _register_c_codegen(self, includes: Callable[[], str] | None = None) -> None:
        self._is_c, self._includes = True, includes
        if includes is not None:
            register_func(f"relay.ext.uma.codegen_c_includes_{self.target_name}", includes, override=True)

    def _generate(self, function: Any) -> Any:
        """The code generator of the target: C that the linker's compiler takes."""
        symbol = str(function.attrs["global_symbol"])
        lowered = get_global_func(f"relay.ext.uma.{self.target_name}.relay_to_tir")(
            IRModule({GlobalVar(symbol): function})
        )
        source = build(lowered, target="c").get_source()
        includes = self._includes() if self._includes is not None else ""
        return get_global_func("runtime.CSourceModuleCreate")(f"{includes}\n{source}", "c", [symbol], [])

    def register(self) -> None:
        """Makes the generator known, where the backend has one."""
        if self._is_c:
            register_func(f"relay.ext.{self.target_name}", self._generate, override=True)
