"""Packs the built package, its tests and this interpreter into one file, for a machine with a GPU and nothing else of ours.

    .venv/bin/python tools/gpu_bundle.py build/gpu-bundle.tar.xz

There:  tar xf gpu-bundle.tar.xz && gpu-bundle/pytest -m gpu tests/python/codegen
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
PACKAGES = [
    "numpy",
    "numpy.libs",
    "pytest",
    "_pytest",
    "py.py",
    "pluggy",
    "iniconfig",
    "packaging",
    "pygments",
    "ml_dtypes",
]
RUN = """#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
export PYTHONHOME="$here/python" PYTHONPATH="$here/repository/python:$here/packages" PYTHONDONTWRITEBYTECODE=1
export LD_LIBRARY_PATH="$here/python/lib:$LD_LIBRARY_PATH"
cd "$here/repository" && exec "$here/python/bin/python3" -m pytest -p no:cacheprovider "$@"
"""


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


def copy_packages(target: Path) -> None:
    target.mkdir()
    site = Path(sysconfig.get_path("purelib"))
    for name in PACKAGES:
        if (site / name).is_dir():
            shutil.copytree(site / name, target / name, ignore=shutil.ignore_patterns("tests", "__pycache__"))
        elif (site / name).is_file():
            shutil.copy(site / name, target / name)
        else:
            print(f"{name} is not installed here and is left out")


def copy_repository(target: Path) -> None:
    names = subprocess.run(
        ["git", "ls-files", "-z", "python", "tests", "pyproject.toml"], cwd=TOP, check=True, capture_output=True
    )
    for name in names.stdout.decode().split("\0"):
        if name and (TOP / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(TOP / name, target / name)
    for built in [*(TOP / "python" / "tessera").glob("*.so"), *(TOP / "python" / "tessera" / "lib").glob("*.so")]:
        place = target / built.relative_to(TOP)
        place.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["strip", "--strip-unneeded", "-o", str(place), str(built)], check=True)


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
        run = bundle / "pytest"
        run.write_text(RUN)
        run.chmod(0o755)
        output.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["tar", "-C", temporary, "-I", "xz -T0 -2", "-cf", str(output), "gpu-bundle"], check=True)
    print(f"{output}: {output.stat().st_size / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
