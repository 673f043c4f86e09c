"""Tools of other systems and bridges to other frameworks, with stand-ins for what is not installed."""

import os
import stat
import sys
import types

import numpy as np
import pytest
import tessera
from tessera import te
from tessera.contrib import mxnet, spirv, tf_op, utils, xcode


def install(folder, name, script):
    path = folder / name
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def tools(tmp_path, monkeypatch):
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


def test_a_dylib_is_linked_by_the_clang_of_the_sdk(tools, tmp_path):
    log = tmp_path / "log"
    install(tools, "fake-clang", f'echo "$@" > {log}\n')
    install(tools, "xcrun", f'case "$*" in *-find*) echo {tools}/fake-clang;; *) echo /sdk;; esac\n')
    xcode.create_dylib("out.dylib", ["a.o", "b.o"], "arm64", sdk="iphoneos", min_os_version="12.0")
    said = log.read_text().split()
    assert said == [
        "-dynamiclib",
        "-arch",
        "arm64",
        "-isysroot",
        "/sdk",
        "-miphoneos-version-min=12.0",
        "-o",
        "out.dylib",
        "a.o",
        "b.o",
    ]
    assert xcode.create_dylib.output_format == "dylib"
    with pytest.raises(ValueError, match="sdk is macosx or iphoneos, not tvos"):
        xcode.create_dylib("out.dylib", [], "arm64", sdk="tvos", min_os_version="1")


def test_metal_is_compiled_in_two_steps(tools, tmp_path):
    install(tools, "xcrun", 'shift 2; tool=$1; shift; while [ "$1" != "-o" ]; do shift; done; echo "$tool" > "$2"\n')
    assert xcode.compile_metal("kernel void f() {}") == b"metallib\n"
    install(tools, "xcrun", "echo wrong code; exit 1\n")
    with pytest.raises(RuntimeError, match="Compilation error:\nwrong code"):
        xcode.compile_metal("kernel")


def test_spirv_is_optimized_by_its_tool(tools, monkeypatch):
    install(tools, "spirv-opt", 'cp "$2" "$4"; echo "!" >> "$4"\n')
    assert spirv.optimize(b"code") == b"code!\n"
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RuntimeError, match="cannot find spirv-opt"):
        spirv.optimize(b"code")


def test_functions_of_a_library_are_operators_of_tensorflow(tmp_path, monkeypatch):
    x = te.placeholder((4,), name="x")
    y = te.compute((4,), lambda i: x[i] + 1.0)
    library = str(tmp_path / "lib.so")
    tessera.build(te.create_schedule(y.op), [x, y], "llvm", name="add_one").export_library(library)
    fake = types.SimpleNamespace(
        numpy_function=lambda f, args, dtype: f(*args).astype(dtype), as_dtype=lambda name: name
    )
    monkeypatch.setitem(sys.modules, "tensorflow", fake)
    function = tf_op.OpModule(library).func("add_one", output_shape=[4], output_dtype="float")
    np.testing.assert_array_equal(function(np.arange(4, dtype="float32")), [1, 2, 3, 4])


def test_arrays_of_mxnet_are_shared(monkeypatch):
    class NDArray:
        def __init__(self, values):
            self.array, self.asked = tessera.nd.array(np.array(values, "float32")), []

        def to_dlpack_for_read(self):
            self.asked.append("read")
            return self.array.to_dlpack()

        def to_dlpack_for_write(self):
            self.asked.append("write")
            return self.array.to_dlpack()

    monkeypatch.setitem(sys.modules, "mxnet", types.SimpleNamespace(nd=types.SimpleNamespace(NDArray=NDArray)))
    source, target = NDArray([1, 2]), NDArray([0, 0])
    mxnet.to_mxnet_func(lambda a, b: a.copyto(b), const_loc=[0])(source, target)
    assert target.array.numpy().tolist() == [1, 2] and source.asked == ["read"] and target.asked == ["write"]


def test_temporary_folders_are_kept_by_their_old_switch(monkeypatch):
    monkeypatch.setattr(utils.TempDirectory, "DEBUG_MODE", True)
    kept = utils.tempdir()
    path = kept.path
    del kept
    assert os.path.isdir(path)
    os.rmdir(path)
