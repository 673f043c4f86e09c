"""Xcode's command-line tools: libraries for Apple's systems, Metal and CoreML."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from typing import Any

from . import utils
from .cc import _names

__all__ = ["compile_coreml", "compile_metal", "create_dylib", "xcrun"]

_SDKS = {"macosx": "-mmacosx-version-min", "iphoneos": "-miphoneos-version-min"}


def xcrun(cmd: Sequence[str]) -> str:
    """What a tool prints: ``xcrun cmd...``."""
    with subprocess.Popen(["xcrun", *cmd], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        out, _ = process.communicate()
    return out.decode("utf-8").strip()


def _version_option(sdk: str, min_os_version: str | None) -> list[str]:
    if min_os_version is None:
        return []
    for kind, option in _SDKS.items():
        if sdk == kind:
            return [f"{option}={min_os_version}"]
    raise ValueError(f"sdk is {' or '.join(_SDKS)}, not {sdk}")


def _run(command: list[str], what: str) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise RuntimeError(f"{what}:\n{done.stdout.decode('utf-8', 'replace')}")


def create_dylib(
    output: str, objects: Sequence[str] | str, arch: str, sdk: str = "macosx", min_os_version: str | None = None
) -> None:
    """Links object files into a library for an architecture ("arm64") of an SDK."""
    clang = xcrun(["-sdk", sdk, "-find", "clang"])
    root = xcrun(["-sdk", sdk, "--show-sdk-path"])
    options = ["-dynamiclib", "-arch", arch, "-isysroot", root, *_version_option(sdk, min_os_version)]
    _run([clang, *options, "-o", output, *_names(objects)], "Compilation error")


create_dylib.output_format = "dylib"  # type: ignore[attr-defined]  # what export_library asks a linker for


def compile_metal(
    code: str, path_target: str | None = None, sdk: str = "macosx", min_os_version: str | None = None
) -> bytearray:
    """The binary library of Metal source; also written to `path_target`."""
    with utils.tempdir() as temp:
        source, ir, binary = (temp.relpath(name) for name in ("code.metal", "code.air", "code.metallib"))
        with open(source, "w", encoding="utf-8") as file:
            file.write(code)
        target = path_target or binary
        options = ["-O3", *_version_option(sdk, min_os_version)]
        _run(["xcrun", "-sdk", sdk, "metal", *options, "-c", source, "-o", ir], "Compilation error")
        _run(["xcrun", "-sdk", sdk, "metallib", ir, "-o", target], "Compilation error")
        with open(target, "rb") as file_:
            return bytearray(file_.read())


def compile_coreml(model: Any, model_name: str = "main", out_dir: str = ".") -> str:
    """Saves a model of coremltools and compiles it; gives the folder of the compiled model."""
    path = os.path.join(out_dir, f"{model_name}.mlmodel")
    model.save(path)
    folder = os.path.join(out_dir, f"{model_name}.mlmodelc")
    said = xcrun(["coremlcompiler", "compile", path, out_dir])
    if not os.path.isdir(folder):
        raise RuntimeError(f"coremlcompiler: {said}")
    return folder
