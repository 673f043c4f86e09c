"""Programs that serve one session: compiled functions linked with the runtime, run by `PopenSession`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from .._ffi.libinfo import library_path
from ..contrib import cc, utils

__all__ = ["find_minrpc_server_libpath", "with_minrpc"]

_MAIN = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef union { int64_t i; double d; void* p; const char* s; } Value;
int TVMFuncGetGlobal(const char* name, void** out);
int TVMFuncCall(void* function, Value* args, int* codes, int count, Value* result, int* code);
const char* TVMGetLastError(void);
#ifdef __cplusplus
}
#endif
int main(int argc, char** argv) {
  void* serve = 0;
  Value fd, result;
  int code = 0, result_code = 0;
  if (argc < 2 || TVMFuncGetGlobal("rpc.ServePipe", &serve) != 0 || !serve) return 2;
  fd.i = atoi(argv[1]);
  if (TVMFuncCall(serve, &fd, &code, 1, &result, &result_code) == 0) return 0;
  fprintf(stderr, "%s\\n", TVMGetLastError());
  return 1;
}
"""


def find_minrpc_server_libpath(server: str = "posix_popen_server") -> str:
    """The library that serves, which is the runtime."""
    path = library_path("tvm_runtime")
    if path is None:
        raise RuntimeError(f"the runtime's library, which {server} needs, is not installed")
    return str(path)


def with_minrpc(
    compile_func: Callable[..., Any], server: str = "posix_popen_server", runtime: str = "libtvm"
) -> Callable[..., Any]:
    """A function for `export_library` that makes a program, which serves one session of `PopenSession`.

    Where the module is a system library, it is the session's `system_lib()`.
    """
    del runtime
    library = find_minrpc_server_libpath(server)
    folder = os.path.dirname(library)

    def build(output: str, objects: Any, options: Any = None, **kwargs: Any) -> Any:
        temporary = utils.tempdir()
        main = temporary.relpath("minrpc_main.c")
        with open(main, "w") as file:
            file.write(_MAIN)
        objects = [objects] if isinstance(objects, str) else list(objects)
        runtime_libraries = [library, os.path.join(folder, "libtessera_runtime.so"), f"-Wl,-rpath,{folder}"]
        cc.create_executable(output, [main, *objects], options=[*(options or []), *runtime_libraries], **kwargs)
        os.chmod(output, 0o755)

    del compile_func  # objects are linked by the C compiler: what is made is a program, not a library
    build.need_system_lib = True  # type: ignore[attr-defined]
    return build
