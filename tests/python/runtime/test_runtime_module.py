"""Modules: loaded libraries, functions by name, imports, measurements, archives."""

import numpy as np
import pytest
import tessera
from tessera import nd, runtime
from tessera.contrib import cc, tar, utils

SOURCE = """
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef union { int64_t i; double f; void* p; } Value;
/* adds its two integer arguments */
int plus(Value* args, int* codes, int count, Value* ret, int* code, void* resource) {
  if (count != 2 || codes[0] != 0 || codes[1] != 0) return -1;
  ret->i = args[0].i + args[1].i;
  *code = 0;
  return 0;
}
extern const char __tvm_main__[];
const char __tvm_main__[] = "plus";
#ifdef __cplusplus
}
#endif
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("library")
    (path / "plus.c").write_text(SOURCE)
    cc.create_shared(str(path / "plus.so"), [str(path / "plus.c")])
    return path


@pytest.fixture(scope="module")
def library(folder):
    return runtime.load_module(str(folder / "plus.so"))


def test_functions_are_found_by_name(library):
    assert library.type_key == "library"
    assert library["plus"](20, 22) == 42
    assert library.get_function("plus")(1, 2) == 3
    assert library.implements_function("plus") and not library.implements_function("minus")
    with pytest.raises(AttributeError, match="Module has no function 'minus'"):
        library["minus"]


def test_a_module_is_called_through_its_main_function(library):
    assert library(2, 3) == 5
    assert library.entry_func.same_as(library.entry_func)


def test_a_function_outlives_its_module(folder):
    plus = runtime.load_module(str(folder / "plus.so"))["plus"]
    assert plus(1, 1) == 2


def test_time_is_measured(library):
    result = library.time_evaluator("plus", tessera.cpu(0), number=3, repeat=4)(1, 2)
    assert len(result.results) == 4 and 0 < result.min <= result.median <= result.max
    assert result.mean == pytest.approx(np.mean(result.results))


def test_a_summary_of_times_is_a_table_in_milliseconds():
    assert str(runtime.BenchmarkResult([0.001, 0.002, 0.003])) == (
        "Execution time summary:\n"
        " mean (ms)   median (ms)    max (ms)     min (ms)     std (ms)  \n"
        "   2.0000       2.0000       3.0000       1.0000       0.8165   \n"
        "               "
    )


def test_modules_import_modules(library):
    outer = tessera.support.FrontendTestModule()
    outer.add_function("one", lambda: 1)
    outer.import_module(library)
    assert outer.type_key == "frontend_test" and outer["one"]() == 1
    assert [m.type_key for m in outer.imported_modules] == ["library"]
    assert outer.get_function("plus", query_imports=True)(1, 2) == 3
    with pytest.raises(AttributeError):
        outer.get_function("plus")
    assert outer.imported_modules[0] == library


def test_objects_and_archives_are_linked_when_loaded(folder, tmp_path):
    archive = str(tmp_path / "plus.tar")
    tar.tar(archive, [str(folder / "plus.c")])
    assert runtime.load_module(archive)["plus"](1, 2) == 3


@pytest.fixture(scope="module")
def compiled():
    """Two compiled modules, the first importing the second."""
    te = tessera.te
    n = te.var("n")
    a = te.placeholder((n,), name="a")

    def build(name, value):
        b = te.compute((n,), lambda i: a[i] + tessera.tir.const(value, "float32"), name="b")
        return tessera.build(te.create_schedule(b.op), [a, b], "llvm", name=name)

    modules = [build("add_one", 1.0), build("add_two", 2.0)]
    modules[0].import_module(modules[1])
    return modules[0]


@pytest.mark.parametrize("name", ["lib.so", "lib.tar"])
def test_a_library_holds_a_module_and_its_imports(compiled, tmp_path, name):
    path = str(tmp_path / name)
    compiled.export_library(path, fcompile=False)  # what is false means the default
    loaded = runtime.load_module(path)
    x, y = nd.array(np.arange(5, dtype="float32")), nd.empty((5,))
    for function, value in ((loaded["add_one"], 1), (loaded.get_function("add_two", query_imports=True), 2)):
        function(x, y)
        np.testing.assert_array_equal(y.numpy(), x.numpy() + value)


def test_a_module_that_no_library_can_hold_is_an_error(compiled, tmp_path):
    outer = tessera.support.FrontendTestModule()
    with pytest.raises(tessera.TVMError, match=r"Module\[frontend_test\] cannot be written into a library"):
        outer.export_library(str(tmp_path / "x.so"))


def test_the_text_of_a_compiled_module_is_its_code(compiled):
    assert compiled.type_key == "llvm" and compiled.format == "o" and compiled.is_dso_exportable
    assert "define" in compiled.get_source() and "add_one" in compiled.get_source("asm")


def test_missing_and_unknown_files_are_errors(tmp_path):
    for kind in (FileNotFoundError, ValueError):  # what Python has, and what v0.10 has
        with pytest.raises(kind, match=r"cannot find file nothing\.xyz"):
            runtime.load_module("nothing.xyz")
    odd = tmp_path / "odd.xyz"
    odd.write_text("")
    with pytest.raises(ValueError, match="xyz"):
        runtime.load_module(str(odd))


def test_a_failed_compilation_shows_what_the_compiler_said(tmp_path):
    source = tmp_path / "bad.c"
    source.write_text("int f( {\n")
    with pytest.raises(RuntimeError, match=r"bad\.c(.|\n)*Command line: "):
        cc.create_shared(str(tmp_path / "bad.so"), [str(source)])


def test_an_archive_is_not_unpacked_outside_its_folder(tmp_path):
    import io
    import tarfile

    path = str(tmp_path / "evil.tar")
    with tarfile.open(path, "w") as archive:
        entry = tarfile.TarInfo("../escaped")
        entry.size = 1
        archive.addfile(entry, io.BytesIO(b"x"))
    with pytest.raises(ValueError, match=r"will not unpack the entry '\.\./escaped'"):
        tar.untar(path, str(tmp_path / "out"))
    assert not (tmp_path / "escaped").exists()


def test_a_temporary_folder_goes_with_its_owner():
    import os

    with utils.tempdir() as folder:
        path = folder.relpath("x")
        open(path, "w").close()
        assert folder.listdir() == ["x"]
    assert not os.path.exists(path)


def test_tensors_are_arguments_of_loaded_functions():
    echo = tessera.get_global_func("testing.echo")
    tensor = nd.array(np.arange(6, dtype="float32").reshape(2, 3))
    assert echo(tensor).same_as(tensor)


def test_what_this_build_can_do_can_be_asked():
    assert runtime.enabled("cpu") and runtime.num_threads() >= 1
    with pytest.raises(tessera.TVMError, match="Unknown optional runtime foo"):
        runtime.enabled("foo")


def test_a_module_without_a_main_function_says_so_when_called():
    with pytest.raises(AttributeError, match="Module has no function '__tvm_main__'"):
        tessera.support.FrontendTestModule()()
