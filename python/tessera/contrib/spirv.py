"""The optimizer of SPIR-V."""

from __future__ import annotations

import shutil
import subprocess

from . import utils

__all__ = ["optimize"]


def optimize(spv_bin: bytes) -> bytearray:
    """The program that ``spirv-opt -O`` makes of one."""
    if shutil.which("spirv-opt") is None:
        raise RuntimeError("cannot find spirv-opt; install SPIR-V's tools (spirv-tools)")
    with utils.tempdir() as temp:
        source, target = temp.relpath("in.spv"), temp.relpath("out.spv")
        with open(source, "wb") as file:
            file.write(bytes(spv_bin))
        done = subprocess.run(
            ["spirv-opt", "-O", source, "-o", target], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
        if done.returncode:
            raise RuntimeError(f"spirv-opt:\n{done.stdout.decode('utf-8', 'replace')}")
        with open(target, "rb") as file:
            return bytearray(file.read())
