"""Helpers of `contrib` that need no network: caches, downloads that are not, compilers, tensors of others."""

import subprocess
import sys

import numpy as np
import pytest
import tessera
from tessera.contrib import clang, dlpack, download, ndk, pickle_memoize, utils


@pytest.fixture
def caches(tmp_path, monkeypatch):
    monkeypatch.setenv("TESSERA_PICKLE_MEMOIZE_DIR", str(tmp_path / "memo"))
    monkeypatch.setattr(pickle_memoize.Cache, "cache_by_key", {})
    return tmp_path / "memo"


def counted(factor):
    calls = []

    @pickle_memoize.memoize("tests.square")
    def square(x, y=0):
        calls.append(x)
        return factor * x * x + y

    return square, calls


def test_results_are_kept_by_arguments_and_closure(caches):
    square, calls = counted(1)
    assert [square(3), square(3), square(2, 5)] == [9, 9, 9] and calls == [3, 2]
    double, _ = counted(2)
    assert double(3) == 18


def test_results_are_found_by_the_next_process(caches):
    square, _ = counted(1)
    square(4)
    pickle_memoize.Cache.cache_by_key.clear()
    again, calls = counted(1)
    assert again(4) == 16 and calls == []


def test_a_damaged_cache_is_computed_again(caches):
    square, _ = counted(1)
    square(4)
    (file,) = caches.iterdir()
    file.write_bytes(b"damaged")
    pickle_memoize.Cache.cache_by_key.clear()
    again, calls = counted(1)
    assert again(4) == 16 and calls == [4]


def test_nothing_is_downloaded_but_what_is_there_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(download, "TEST_DATA_ROOT_PATH", tmp_path)
    with pytest.raises(
        FileNotFoundError, match=r"fetch https://x\.org/cat\.png yourself and put it at .*data/cat\.png"
    ):
        download.download_testdata("https://x.org/cat.png", "cat.png", module="data")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "cat.png").write_bytes(b"meow")
    assert download.download_testdata("https://x.org/cat.png", "cat.png", "data") == str(tmp_path / "data" / "cat.png")
    download.download("https://x.org/cat.png", tmp_path / "data" / "cat.png")


@pytest.mark.skipif(not clang.find_clang(required=False), reason="clang is not installed")
def test_clang_makes_llvm_ir_of_a_text():
    text = clang.create_llvm('extern "C" int twice(int x) { return 2 * x; }', options=["-O2"])
    assert "define" in text and "@twice" in text


def test_a_compiler_that_is_missing_is_told_with_what_to_set(monkeypatch, tmp_path):
    monkeypatch.delenv("TVM_NDK_CC", raising=False)
    with pytest.raises(RuntimeError, match="set TVM_NDK_CC to the clang"):
        ndk.create_shared(str(tmp_path / "x.so"), [])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert clang.find_clang(required=False) == []
    with pytest.raises(RuntimeError, match="cannot find clang"):
        clang.find_clang()


def test_the_compiler_of_the_ndk_links(monkeypatch, tmp_path):
    monkeypatch.setenv("TVM_NDK_CC", "g++")
    (tmp_path / "f.c").write_text("int f(void) { return 7; }\n")
    ndk.create_shared(str(tmp_path / "f.so"), [str(tmp_path / "f.c")])
    assert (tmp_path / "f.so").read_bytes()[:4] == b"\x7fELF"


def test_tensors_of_others_are_taken_where_they_lie():
    class Other:
        def __init__(self, array):
            self.array = array

    seen = []
    function = dlpack.convert_func(seen.append, Other, lambda x: tessera.nd.array(x.array).to_dlpack())
    function(Other(np.arange(3, dtype="float32")))
    assert isinstance(seen[0], tessera.nd.NDArray) and list(seen[0].numpy()) == [0, 1, 2]


def test_no_temporary_folder_is_made_when_all_were_removed():
    program = (
        "import os; from tessera.contrib import utils\n"
        "folder = utils.tempdir(); path = folder.path\n"
        "assert path in utils.TempDirectory.TEMPDIRS\n"
        "utils.TempDirectory.remove_tempdirs(); assert not os.path.exists(path)\n"
        "try:\n    utils.tempdir()\n"
        "except utils.DirectoryCreatedPastAtExit:\n    print('none')\n"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "none\n"
    assert utils.TempDirectory.TEMPDIRS is not None
