"""Libraries, objects and archives that were changed on disk are rejected by name; whole ones serve other programs too."""

import ctypes
import random
import shutil
import subprocess
import tarfile

import numpy as np
import pytest
import tessera
from tessera import te
from tessera.contrib import cc

SEAL_BYTES = 24
MAGIC_BYTES = 8


@pytest.fixture(scope="module")
def module():
    a = te.placeholder((64,), name="a")
    b = te.compute((64,), lambda i: te.exp(a[i]) + 1.0, name="b")
    return tessera.build(te.create_schedule(b.op), [a, b], "llvm", name="f")


def answers(module):
    x = tessera.nd.array(np.arange(64, dtype="float32") / 64)
    y = tessera.nd.array(np.zeros(64, "float32"))
    module["f"](x, y)
    np.testing.assert_allclose(y.numpy(), np.exp(x.numpy()) + 1, rtol=1e-6)
    return True


def flip(data, at):
    return data[:at] + bytes([data[at] ^ 0x40]) + data[at + 1 :]


@pytest.mark.parametrize("suffix", ["so", "o", "tar"])
def test_a_file_with_a_changed_byte_is_rejected_by_name(module, suffix, tmp_path):
    whole = tmp_path / f"whole.{suffix}"
    module.save(str(whole)) if suffix == "o" else module.export_library(str(whole))
    assert answers(tessera.runtime.load_module(str(whole)))
    data = whole.read_bytes()
    rng = random.Random(1)
    offsets = [0, 16, len(data) // 2, len(data) - SEAL_BYTES - 1, len(data) - 1]
    offsets += [rng.randrange(len(data)) for _ in range(40)]
    magic = range(len(data) - SEAL_BYTES, len(data) - SEAL_BYTES + MAGIC_BYTES)
    for number, at in enumerate(offset for offset in offsets if offset not in magic):
        broken = tmp_path / f"broken{number}.{suffix}"
        broken.write_bytes(flip(data, at))
        with pytest.raises(OSError, match=rf"{broken.name} is corrupt.*checksum.*export it again"):
            tessera.runtime.load_module(str(broken))


def test_a_file_cut_short_or_made_longer_is_rejected(module, tmp_path):
    whole = tmp_path / "whole.so"
    module.export_library(str(whole))
    data = whole.read_bytes()
    for name, changed in {"half": data[: len(data) // 2], "twice": data[:100] + data}.items():
        broken = tmp_path / f"{name}.so"
        broken.write_bytes(changed)
        with pytest.raises(OSError, match=broken.name):
            tessera.runtime.load_module(str(broken))


def test_a_sealed_library_serves_programs_that_know_nothing_of_the_seal(module, tmp_path):
    path = tmp_path / "lib.so"
    module.export_library(str(path))
    assert ctypes.CDLL(str(path)).f is not None
    subprocess.run(["readelf", "-a", "-W", str(path)], check=True, capture_output=True)


def test_an_object_links_with_any_linker_and_an_archive_opens_with_any_tar(module, tmp_path):
    module.save(str(tmp_path / "f.o"))
    subprocess.run(["gcc", "-shared", "-o", str(tmp_path / "own.so"), str(tmp_path / "f.o")], check=True)
    assert answers(tessera.runtime.load_module(str(tmp_path / "own.so")))
    module.export_library(str(tmp_path / "f.tar"))
    with tarfile.open(tmp_path / "f.tar") as archive:
        assert archive.getnames()
    if shutil.which("tar"):
        subprocess.run(["tar", "tf", str(tmp_path / "f.tar")], check=True, capture_output=True)


def test_a_stripped_library_has_no_seal_and_loads(module, tmp_path):
    path = tmp_path / "lib.so"
    module.export_library(str(path))
    subprocess.run(["strip", str(path)], check=True)
    assert answers(tessera.runtime.load_module(str(path)))


def test_exports_through_a_users_compiler_are_sealed_once(module, tmp_path):
    path = tmp_path / "lib.so"
    module.export_library(str(path), fcompile=cc.cross_compiler("g++"))
    assert path.read_bytes().count(b"TESSERA1") == 1
    path.write_bytes(flip(path.read_bytes(), 5000))
    with pytest.raises(OSError, match=r"lib\.so is corrupt"):
        tessera.runtime.load_module(str(path))


def test_an_archive_that_is_none_is_rejected(tmp_path):
    path = tmp_path / "no.tar"
    path.write_bytes(b"this is no archive" * 100)
    with pytest.raises(ValueError, match=r"cannot unpack the archive .*no\.tar"):
        tessera.runtime.load_module(str(path))


def test_an_object_that_is_none_is_rejected_with_the_linkers_words(tmp_path):
    path = tmp_path / "no.o"
    path.write_bytes(b"this is no object" * 100)
    with pytest.raises(RuntimeError, match=r"no\.o"):
        tessera.runtime.load_module(str(path))
