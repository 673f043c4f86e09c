"""Packs the built package, its tests and this interpreter into one file, for a machine with a GPU and nothing else of ours.

    .venv/bin/python tools/gpu_bundle.py build/gpu-bundle.tar.xz

There:  tar xf gpu-bundle.tar.xz && gpu-bundle/pytest -m gpu tests/python
        python3 gpu-bundle/repository/bench/gpu.py --ours gpu-bundle/python3       # beside that machine's PyTorch
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib import metadata
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
IMPORTED_BY_TESTS = [
    "hypothesis",
    "ml_dtypes",
    "numpy",
    "onnx",
    "pytest",
    "pytest_xdist",
]  # what these need comes along
RUN = """#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
export PYTHONHOME="$here/python" PYTHONPATH="$here/repository/python:$here/packages" PYTHONDONTWRITEBYTECODE=1
export LD_LIBRARY_PATH="$here/python/lib:$LD_LIBRARY_PATH"
"""
RUNNERS = {
    "pytest": 'cd "$here/repository" && exec "$here/python/bin/python3" -m pytest -p no:cacheprovider "$@"\n',
    "python3": 'exec "$here/python/bin/python3" "$@"\n',
}


def copy_interpreter(target: Path) -> None:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    (target / "bin").mkdir(parents=True)
    (target / "lib").mkdir()
    shutil.copy(Path(sys.executable).resolve(), target / "bin" / "python3")
    unwanted = shutil.ignore_patterns(
        "test",
        "tests",
        "config-*",
        "lib2to3",
        "pydoc_data",
        "idlelib",
        "turtledemo",
        "tkinter",
        "ensurepip",
        "__pycache__",
        "site-packages",
        "dist-packages",
    )
    shutil.copytree(sysconfig.get_path("stdlib"), target / "lib" / version, ignore=unwanted)
    library = Path(sysconfig.get_config_var("LIBDIR") or "") / str(sysconfig.get_config_var("INSTSONAME") or "")
    if library.is_file() and ".so" in library.name:
        shutil.copy(library.resolve(), target / "lib" / library.name)


def needed_distributions() -> list[metadata.Distribution]:
    """IMPORTED_BY_TESTS and, through their requirements, everything else that is installed for them."""
    found: dict[str, metadata.Distribution] = {}
    pending = list(IMPORTED_BY_TESTS)
    while pending:
        name = re.sub(r"[-_.]+", "-", pending.pop()).lower()
        if name in found:
            continue
        try:
            found[name] = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            if name in IMPORTED_BY_TESTS:
                sys.exit(f"{name} is not installed here; run make build")
            continue  # required on another system or by an extra
        for requirement in found[name].requires or []:
            if "extra ==" not in requirement:
                pending.append(re.match(r"[\w.-]+", requirement)[0])  # type: ignore[index]
    return list(found.values())


def copy_packages(target: Path) -> None:
    for distribution in needed_distributions():
        for file in distribution.files or []:
            # Programs lie outside (../../bin); some packages import helpers from their tests, so tests stay, data goes.
            if ".." in file.parts or "__pycache__" in file.parts or "data" in file.parts[1:]:
                continue
            path = target / file
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file.locate(), path)


def copy_repository(target: Path) -> None:
    names = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, check=True, capture_output=True)
    for name in names.stdout.decode().split("\0"):
        if name and (TOP / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(TOP / name, target / name)
    package = TOP / "python" / "tessera"
    for built in [*package.glob("*.so"), *(package / "lib").glob("*.so"), *(package / "bin").iterdir()]:
        path = target / built.relative_to(TOP)
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(built, path)


def strip(folder: Path) -> None:
    """Takes what only a debugger reads out of the libraries of `folder`."""
    programs = [file for file in folder.rglob("*") if file.is_file() and file.open("rb").read(4) == b"\x7fELF"]
    if programs:
        subprocess.run(["strip", "--strip-unneeded", *map(str, programs)], check=True)


def strip_packages(folder: Path) -> None:
    """The same for packages, but for those that bring libraries along: what was patched for them does not survive it."""
    for package in folder.iterdir():
        if package.suffix != ".libs" and not package.with_name(f"{package.name}.libs").exists():
            strip(package)


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    output = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as temporary:
        bundle = Path(temporary) / "gpu-bundle"
        bundle.mkdir()
        copy_interpreter(bundle / "python")
        copy_packages(bundle / "packages")
        copy_repository(bundle / "repository")
        strip(bundle / "python")
        strip(bundle / "repository")
        strip_packages(bundle / "packages")
        for name, command in RUNNERS.items():
            (bundle / name).write_text(RUN + command)
            (bundle / name).chmod(0o755)
        output.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["tar", "-C", temporary, "-I", "xz -T0 -6", "-cf", str(output), "gpu-bundle"], check=True)
    print(f"{output}: {output.stat().st_size / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
