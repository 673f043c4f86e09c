"""clang as a maker of LLVM IR from C and C++."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from . import utils
from .cc import _names, _run

__all__ = ["create_llvm", "find_clang"]


def find_clang(required: bool = True) -> list[str]:
    """The clang programs that are installed, newest first; without any an error, or an empty list."""
    names = [*(f"clang-{version}" for version in range(25, 3, -1)), "clang"]
    found = [path for path in map(shutil.which, names) if path is not None]
    if required and not found:
        raise RuntimeError("cannot find clang; install it, or give its path as cc")
    return found


def create_llvm(
    inputs: str | Sequence[str],
    output: str | None = None,
    options: Sequence[str] | None = None,
    cc: str | None = None,
) -> str:
    """The LLVM IR of a source, given as text or as a path; also written to `output` where that is given."""
    sources = _names(inputs)
    if len(sources) != 1:
        raise ValueError(f"create_llvm takes one source, got {len(sources)}")
    with utils.tempdir() as temp:
        path = sources[0]
        if not utils.is_source_path(path):
            path = temp.relpath("input.cc")
            with open(path, "w", encoding="utf-8") as file:
                file.write(sources[0])
        target = output or temp.relpath("output.ll")
        _run([cc or find_clang()[0], "-S", "-emit-llvm", *_names(options), path, "-o", target], "Compilation error")
        with open(target, encoding="utf-8") as file:
            return file.read()
