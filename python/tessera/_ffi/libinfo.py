"""Where the files of the package are."""

from __future__ import annotations

import os
import sys

_SUFFIX = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")


def package_path() -> str:
    """The folder of the package."""
    return os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def library_path(name: str) -> str | None:
    """The shared library of that name (``tessera``, ``tessera_runtime``, ``tvm_runtime``), or None.

    ``TVM_LIBRARY_PATH`` names folders that are searched first.
    """
    folders = [folder for folder in os.environ.get("TVM_LIBRARY_PATH", "").split(os.pathsep) if folder]
    for folder in [*folders, os.path.join(package_path(), "lib")]:
        path = os.path.join(folder, f"lib{name}{_SUFFIX}")
        if os.path.isfile(path):
            return path
    return None


def find_lib_path(name: str | list[str] | None = None, search_path: object = None, optional: bool = False) -> list[str]:
    """Paths of the libraries of that name, or of the compiler and the runtime."""
    wanted = [name] if isinstance(name, str) else name or ["libtessera", "libtessera_runtime"]
    stems = [os.path.basename(each).split(".")[0].removeprefix("lib") for each in wanted]
    found = [path for path in map(library_path, stems) if path]
    if not found and not optional:
        raise RuntimeError(f"cannot find the library {', '.join(wanted)} in {package_path()}/lib")
    return found


def find_include_path(name: object = None, search_path: object = None, optional: bool = False) -> list[str]:
    """Folders with the headers that programs using the runtime include."""
    here = package_path()
    candidates = [os.path.join(here, "include"), os.path.join(os.path.dirname(os.path.dirname(here)), "include")]
    found = [path for path in candidates if os.path.isdir(os.path.join(path, "tessera"))]
    if os.environ.get("TVM_INCLUDE_PATH"):
        found = os.environ["TVM_INCLUDE_PATH"].split(os.pathsep) + found
    if not found and not optional:
        raise RuntimeError("cannot find the headers of the runtime; set TVM_INCLUDE_PATH to their folder")
    return found
