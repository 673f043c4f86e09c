"""The CUDA compiler: source into PTX or binaries, and what an architecture can do."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import Any

from .._ffi.registry import get_global_func
from ..runtime.ndarray import cuda
from ..target import Target
from . import utils


def find_cuda_path() -> str:
    """The folder of the CUDA toolkit: ``$CUDA_PATH``, ``$CUDA_HOME``, that of nvcc, or ``/usr/local/cuda``."""
    for name in ("CUDA_PATH", "CUDA_HOME"):
        if os.environ.get(name):
            return os.environ[name]
    nvcc = shutil.which("nvcc")
    if nvcc:
        return os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))
    if os.path.exists("/usr/local/cuda/bin/nvcc"):
        return "/usr/local/cuda"
    raise RuntimeError("Cannot find cuda path: there is no nvcc; install the CUDA toolkit or set CUDA_HOME")


def get_cuda_version(cuda_path: str | None = None) -> float:
    """The toolkit's version, such as 12.4."""
    nvcc = os.path.join(cuda_path or find_cuda_path(), "bin", "nvcc")
    text = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"release (\d+\.\d+)", text)
    if not found:
        raise RuntimeError(f"Cannot read the CUDA version from:\n{text}")
    return float(found.group(1))


def compile_cuda(
    code: str,
    target_format: str = "ptx",
    arch: Any = None,
    options: Any = None,
    path_target: str | None = None,
) -> bytearray:
    """Compiles CUDA source by nvcc to "ptx", "cubin" or "fatbin".

    `arch` is ``sm_90`` or a list of ``-gencode`` options; without one it is that of the current target or of the device.
    """
    if target_format not in ("ptx", "cubin", "fatbin"):
        raise ValueError("target_format must be in cubin, ptx, fatbin")
    if arch is None:
        arch = "sm_" + "".join(get_target_compute_version(Target.current()).split("."))
    nvcc = os.path.join(find_cuda_path(), "bin", "nvcc")
    with utils.tempdir() as folder:
        source, made = folder.relpath("my_kernel.cu"), path_target or folder.relpath(f"my_kernel.{target_format}")
        with open(source, "w") as file:
            file.write(code)
        command = [nvcc, f"--{target_format}", "-O3"]
        command += list(arch) if isinstance(arch, (list, tuple)) else ["-arch", arch]
        command += [options] if isinstance(options, str) else list(options or [])
        command += ["-o", made, source]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{code}\nCompilation error:\n{done.stdout}")
        with open(made, "rb") as file:
            return bytearray(file.read())


def find_libdevice_path(arch: Any) -> str:
    """The library of device functions for LLVM's NVPTX code; `arch` is not asked by current toolkits."""
    del arch
    folder = os.path.join(find_cuda_path(), "nvvm", "libdevice")
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        if name.startswith("libdevice") and name.endswith(".bc"):
            return os.path.join(folder, name)
    raise RuntimeError(f"Cannot find libdevice in {folder}")


def get_target_compute_version(target: Target | None = None) -> str:
    """ "9.0" of the target, or of the device where it does not say."""
    target = target or Target.current()
    arch = target.attrs.get("arch") if target is not None and target.kind.name == "cuda" else None
    if arch:
        number = re.match(r"sm_(\d+)", str(arch))
        if number:
            return f"{number.group(1)[:-1]}.{number.group(1)[-1]}"
    if cuda(0).exist:
        return str(cuda(0).compute_version)
    raise ValueError(
        "No CUDA architecture was specified or GPU detected. Try specifying it by adding '-arch=sm_xx' to your target."
    )


def parse_compute_version(compute_version: str) -> tuple[int, int]:
    """ "9.0" as (9, 0)."""
    major, _, minor = compute_version.partition(".")
    try:
        return int(major), int(minor or 0)
    except ValueError as error:
        raise RuntimeError(f"Compute version parsing error: {compute_version}") from error


def have_fp16(compute_version: str) -> bool:
    """Half arithmetic in hardware."""
    version = parse_compute_version(compute_version)
    return version == (5, 3) or version >= (6, 0)


def have_int8(compute_version: str) -> bool:
    """The dot product of int8 (dp4a)."""
    return parse_compute_version(compute_version) >= (6, 1)


def have_bf16(compute_version: str) -> bool:
    """bfloat16 arithmetic in hardware."""
    return parse_compute_version(compute_version) >= (8, 0)


def have_tensorcore(compute_version: str | None = None, target: Target | None = None) -> bool:
    """Matrix units."""
    if compute_version is None:
        try:
            compute_version = get_target_compute_version(target)
        except ValueError:
            return False
    return parse_compute_version(compute_version)[0] >= 7


def have_cudagraph() -> bool:
    """Whole graphs launched at once: in every toolkit since 10.0."""
    try:
        return get_cuda_version() >= 10.0
    except RuntimeError:
        return False


def compile_in_process(code: str, arch: str, target_format: str = "ptx") -> bytes:
    """Compiles CUDA source by NVRTC where it is there, which is quicker than nvcc; by nvcc elsewhere."""
    return bytes(get_global_func("runtime.cuda_compile")(code, arch, target_format))


def callback_libdevice_path(arch: Any) -> str:
    """Where the bitcode of the device library is; empty where it is not."""
    try:
        return find_libdevice_path(arch)
    except RuntimeError:
        return ""


def tvm_callback_cuda_compile(code: str) -> bytearray:
    """CUDA source as a program for the current target; what code generators call."""
    return compile_cuda(code, target_format="fatbin")
