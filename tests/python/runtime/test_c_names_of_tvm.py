"""libtvm_runtime.so: C programs that were written to TVM v0.10 find its calls under their old names."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[3]
LIBRARIES = TOP / "python" / "tessera" / "lib"

K_INT, K_STR = 0, 11


class Value(ctypes.Union):
    _fields_ = (
        ("int64", ctypes.c_int64),
        ("float64", ctypes.c_double),
        ("handle", ctypes.c_void_p),
        ("str", ctypes.c_char_p),
    )


@pytest.fixture(scope="module")
def lib() -> ctypes.CDLL:
    library = ctypes.CDLL(str(LIBRARIES / "libtvm_runtime.so"))
    library.TVMGetLastError.restype = ctypes.c_char_p
    return library


def get_global(lib, name: str) -> ctypes.c_void_p:
    handle = ctypes.c_void_p()
    assert lib.TVMFuncGetGlobal(name.encode(), ctypes.byref(handle)) == 0
    return handle


def call(lib, handle, *args: tuple[int, dict]) -> tuple[int, Value]:
    values = (Value * len(args))(*[Value(**value) for _, value in args])
    codes = (ctypes.c_int * len(args))(*[code for code, _ in args])
    ret, ret_code = Value(), ctypes.c_int()
    status = lib.TVMFuncCall(handle, values, codes, len(args), ctypes.byref(ret), ctypes.byref(ret_code))
    if status != 0:
        raise RuntimeError(lib.TVMGetLastError().decode())
    return ret_code.value, ret


def rows(header: str) -> list[str]:
    text = (TOP / "include" / "tessera" / header).read_text()
    return re.findall(r"^TESSERA_API\([^,]+, (\w+),", text, re.MULTILINE)


def test_every_call_is_there_under_its_name(lib):
    names = ["TVM" + row for row in rows("c_api_functions.h")] + [
        "TVMBackend" + r for r in rows("c_backend_functions.h")
    ]
    assert len(names) > 45 and "TVMFuncCall" in names and "TVMBackendParallelLaunch" in names
    assert [name for name in names if not hasattr(lib, name)] == []


def test_a_global_function_is_found_and_called(lib):
    echo = get_global(lib, "testing.echo")
    assert echo.value
    code, ret = call(lib, echo, (K_INT, {"int64": 7}))
    assert (code, ret.int64) == (K_INT, 7)
    code, ret = call(lib, echo, (K_STR, {"str": b"hello"}))
    assert (code, ret.str) == (K_STR, b"hello")
    assert lib.TVMFuncFree(echo) == 0


def test_a_missing_function_is_null_not_an_error(lib):
    assert get_global(lib, "no.such.function").value is None


def test_an_error_is_told_by_its_kind_and_message(lib):
    enabled = get_global(lib, "runtime.RuntimeEnabled")
    with pytest.raises(RuntimeError, match="TVMError: Unknown optional runtime abacus"):
        call(lib, enabled, (K_STR, {"str": b"abacus"}))
    with pytest.raises(RuntimeError, match=r"TypeError: runtime\.RuntimeEnabled takes 1 arguments, got 0"):
        call(lib, enabled)
    lib.TVMFuncFree(enabled)


def test_a_python_function_is_registered_through_c(lib):
    signature = ctypes.CFUNCTYPE(
        ctypes.c_int,
        ctypes.POINTER(Value),
        ctypes.POINTER(ctypes.c_int),
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_void_p,
    )

    @signature
    def double(args, codes, count, ret, resource):
        result, code = Value(int64=args[0].int64 * 2), ctypes.c_int(K_INT)
        return lib.TVMCFuncSetReturn(ctypes.c_void_p(ret), ctypes.byref(result), ctypes.byref(code), 1)

    made = ctypes.c_void_p()
    assert lib.TVMFuncCreateFromCFunc(double, None, None, ctypes.byref(made)) == 0
    assert lib.TVMFuncRegisterGlobal(b"test.ctypes.double", made, 1) == 0
    lib.TVMFuncFree(made)
    found = get_global(lib, "test.ctypes.double")
    assert call(lib, found, (K_INT, {"int64": 21}))[1].int64 == 42
    lib.TVMFuncFree(found)
    assert lib.TVMFuncRemoveGlobal(b"test.ctypes.double") == 0


C_PROGRAM = r"""
#include <stdio.h>
#include <tvm/runtime/c_backend_api.h>

static int total[4];
static int task(int id, TVMParallelGroupEnv* env, void* data) { return total[id] = env->num_task, 0; }

int main(void) {
  int64_t shape[1] = {4};
  TVMArrayHandle array;
  if (TVMArrayAlloc(shape, 1, kDLFloat, 32, 1, kDLCPU, 0, &array) != 0) return 1;
  if (TVMArrayFree(array) != 0) return 2;
  if (TVMBackendParallelLaunch(task, NULL, 4) != 0 || total[3] != 4) return 3;
  if (TVMArrayAlloc(shape, 1, kDLFloat, 32, 1, 77, 0, &array) == 0) return 4;
  printf("%s\n", TVMGetLastError());
  return 0;
}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_an_old_c_program_compiles_and_links_with_tvm_runtime_alone(tmp_path):
    (tmp_path / "main.c").write_text(C_PROGRAM)
    subprocess.run(
        ["cc", "-std=c11", "-Wall", "-Werror", f"-I{TOP}/include", "main.c", f"-L{LIBRARIES}", "-ltvm_runtime",
         f"-Wl,-rpath,{LIBRARIES}", "-o", "main"],
        cwd=tmp_path, check=True,
    )  # fmt: skip
    result = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
    assert "device type 77 is not enabled" in result.stdout
