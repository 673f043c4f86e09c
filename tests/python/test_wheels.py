"""What tools/wheels.py and the tools beside it do on the way to a wheel; `make test-wheel` tries the wheels themselves."""

import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import wheels

TOOLS = Path(__file__).parents[2] / "tools"


def raw_deflate(data):
    worker = zlib.compressobj(9, zlib.DEFLATED, -15)
    return worker.compress(data) + worker.flush()


def test_a_packed_archive_holds_the_same_files(tmp_path):
    with zipfile.ZipFile(tmp_path / "plain.whl", "w") as archive:
        for name, data, mode in [
            ("a/lib.so", b"\0" * 100000, 0o755),
            ("a/__init__.py", b"", 0o644),
            ("RECORD", b"x,y", 0o600),
        ]:
            entry = zipfile.ZipInfo(name, (2026, 11, 16, 12, 34, 56))
            entry.external_attr = mode << 16
            archive.writestr(entry, data)
    wheels.pack(tmp_path / "plain.whl", tmp_path / "packed.whl", raw_deflate)
    with zipfile.ZipFile(tmp_path / "plain.whl") as plain, zipfile.ZipFile(tmp_path / "packed.whl") as packed:
        assert packed.testzip() is None
        for before, after in zip(plain.infolist(), packed.infolist()):
            assert plain.read(before) == packed.read(after)
            for field in ("filename", "date_time", "external_attr", "CRC", "file_size"):
                assert getattr(before, field) == getattr(after, field)
    assert (tmp_path / "packed.whl").stat().st_size < 1000


def test_an_interpreter_that_does_not_run_is_passed_over(tmp_path, monkeypatch):
    """As pyenv's shims do for versions that are installed and not chosen."""
    (tmp_path / "python3.99").write_text("#!/bin/sh\nexit 127\n")
    (tmp_path / "python3.99").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert wheels.candidates("3.99")[0] == str(tmp_path / "python3.99")
    assert wheels.find_interpreter("3.99") is None


def test_the_libraries_of_a_wheel_export_what_the_runtime_exports_and_no_more(tmp_path):
    def library(name, source, *flags):
        (tmp_path / f"{name}.c").write_text(source)
        out = tmp_path / f"lib{name}.so"
        subprocess.run(["cc", "-shared", "-fPIC", tmp_path / f"{name}.c", "-o", out, *flags], check=True)
        return out

    runtime = library("runtime", "int shared; int of_runtime(void) { return shared; }")
    script = tmp_path / "exports.map"
    subprocess.run([sys.executable, TOOLS / "export_map.py", runtime, script, "entry"], check=True)
    source = (
        "__attribute__((weak)) int shared; int inside(void) { return shared; } int entry(void) { return inside(); }"
    )
    compiler = library("compiler", source, f"-Wl,--version-script={script}")
    listing = subprocess.run(
        ["nm", "-D", "--defined-only", compiler], capture_output=True, text=True, check=True
    ).stdout
    assert sorted(line.split()[-1] for line in listing.splitlines()) == ["entry", "shared"]


def test_a_wheel_that_grew_too_large_is_an_error(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "tessera-0-cp311-cp311-any.whl", "w") as archive:
        archive.writestr("tessera/lib/libtessera.so", b"\0" * 1000)
    wheels.check_size(tmp_path / "tessera-0-cp311-cp311-any.whl")
    monkeypatch.setattr(wheels, "MAX_LIBRARY", 999)
    with pytest.raises(SystemExit, match="for libtessera.so are meant"):
        wheels.check_size(tmp_path / "tessera-0-cp311-cp311-any.whl")
