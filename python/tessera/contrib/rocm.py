"""AMD's tools: the linker of code objects, and the device libraries."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from .utils import tempdir

__all__ = ["callback_rocm_bitcode_path", "callback_rocm_link", "find_lld", "rocm_link"]


def find_lld(required: bool = True) -> list[str]:
    """Linkers of LLVM that are here, the one of ROCm first."""
    names = ["/opt/rocm/llvm/bin/ld.lld", "ld.lld", *(f"ld.lld-{version}" for version in range(20, 8, -1))]
    found = [path for name in names if (path := shutil.which(name))]
    if not found and required:
        raise RuntimeError(f"cannot find ld.lld; looked for {', '.join(names)}")
    return found


def rocm_link(in_file: str, out_file: str, lld: str | None = None) -> None:
    """Links an object file into a code object."""
    command = [lld or find_lld()[0], "--no-undefined", "-shared", in_file, "-o", out_file]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"linking failed: {' '.join(command)}\n{done.stdout}{done.stderr}")


def callback_rocm_link(obj_bin: Any) -> bytearray:
    """The code object of an object file, both as bytes."""
    folder = tempdir()
    source, target = folder.relpath("rocm_kernel.o"), folder.relpath("rocm_kernel.co")
    Path(source).write_bytes(bytes(obj_bin))
    rocm_link(source, target)
    return bytearray(Path(target).read_bytes())


def callback_rocm_bitcode_path(rocdl_dir: str | None = None) -> list[str]:
    """The device libraries of ROCm that exist, from `rocdl_dir`, $ROCM_PATH or /opt/rocm."""
    if rocdl_dir is not None:
        folder = Path(rocdl_dir)
    else:
        folder = Path(os.environ.get("ROCM_PATH", "/opt/rocm")) / "amdgcn" / "bitcode"
    names = (
        "oclc_daz_opt_on",
        "ocml",
        "irif",
        "oclc_correctly_rounded_sqrt_off",
        "oclc_correctly_rounded_sqrt_on",
        "oclc_daz_opt_off",
        "oclc_finite_only_off",
        "oclc_finite_only_on",
        "oclc_unsafe_math_off",
        "oclc_unsafe_math_on",
        "oclc_wavefrontsize64_on",
        "oclc_abi_version_500",
    )
    return [str(path) for name in names if (path := folder / f"{name}.bc").exists()]
