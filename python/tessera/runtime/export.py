"""A module and its imports as one file."""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from typing import Any

from .._ffi import get_global_func
from . import _ffi_api
from .module import Module


def _blob_source(blob: bytes) -> str:
    """C source of `__tvm_dev_mblob`: a length in 8 bytes and the packed imports."""
    data = struct.pack("<Q", len(blob)) + blob
    rows = (data[i : i + 48] for i in range(0, len(data), 48))
    text = "\n".join('"' + "".join(f"\\{byte:03o}" for byte in row) + '"' for row in rows)
    return (
        '#ifdef __cplusplus\nextern "C" {\n#endif\n'
        "extern const char __tvm_dev_mblob[];\n"
        '__attribute__((visibility("default"), aligned(16)))\n'
        f"const char __tvm_dev_mblob[] =\n{text};\n"
        "#ifdef __cplusplus\n}\n#endif\n"
    )


def _write_blob(module: Module, dso_modules: Sequence[Module], folder: str, form: str) -> str:
    """The packed imports as an object where LLVM is there, else as C source; returns the file."""
    blob = bytes(_ffi_api.ModulePackImports(module))
    write_object = get_global_func("codegen.codegen_blob", allow_missing=True)
    if write_object is not None:
        target = next((m["_get_target_string"]() for m in dso_modules if m.type_key == "llvm"), "llvm")
        path = os.path.join(folder, f"devc.{form}")
        write_object(bytearray(blob), False, target).save(path)
        return path
    path = os.path.join(folder, "devc.c")
    with open(path, "w") as file:
        file.write(_blob_source(blob))
    return path


def _needs_blob(module: Module, dso_modules: Sequence[Module]) -> bool:
    """A lone module that the linker takes needs no table of imports."""
    return not (len(dso_modules) == 1 and dso_modules[0].same_as(module) and not module.imported_modules)


def _object_format(module: Module, fcompile: Any) -> str:
    if module.type_key == "c":
        kinds = ("c", "cc", "cpp", "cu")
        return module.format if module.format in kinds else "c"
    if module.type_key in ("llvm", "static_library"):
        return getattr(fcompile, "object_format", "o")
    return module.format or "o"


def _linker(dso_modules: Sequence[Module]) -> Any:
    """The system's C compiler, or the one for the machine that the code is for."""
    from ..contrib import cc

    for module in dso_modules:
        if module.type_key == "llvm":
            from ..target import Target

            triple = Target(module["_get_target_string"]()).attrs.get("mtriple")
            compiler = cc.find_cross_compiler(str(triple)) if triple else None
            return cc.cross_compiler(compiler) if compiler else cc.create_shared
    return cc.create_shared


def export_library(
    module: Module,
    file_name: str,
    fcompile: Any = None,
    addons: Sequence[str] | None = None,
    workspace_dir: str | None = None,
    **kwargs: Any,
) -> Any:
    """See Module.export_library."""
    from ..contrib import tar, utils

    file_name = os.fspath(file_name)
    if module.type_key == "stackvm":
        if not file_name.endswith(".stackvm"):
            raise ValueError(f"Module[stackvm]: can only be saved as stackvm format, not as {file_name}")
        module.save(file_name)
        return None

    temporary = utils.tempdir()  # removed when this function ends
    folder = workspace_dir or temporary.temp_dir
    dso_modules = module._collect_dso_modules()
    if not fcompile:
        fcompile = tar.tar if file_name.endswith(".tar") else _linker(dso_modules)
    files = list(addons or [])
    for i, each in enumerate(dso_modules):
        path = os.path.join(folder, f"lib{i}.{_object_format(each, fcompile)}")
        each.save(path)
        files.append(path)
        if each.type_key == "c" and "options" not in kwargs:
            from .._ffi.libinfo import find_include_path

            kwargs["options"] = ["-O2", *("-I" + path for path in find_include_path()), "-lm"]
    if _needs_blob(module, dso_modules):
        files.append(_write_blob(module, dso_modules, folder, getattr(fcompile, "object_format", "o")))
    if not files:
        raise ValueError(f"Module[{module.type_key}] has nothing that can be written into {file_name}")
    result = fcompile(file_name, files, **kwargs)
    if os.path.isfile(file_name):
        _ffi_api.SealFile(file_name)
    return result
