"""The system's C compiler as a linker of what was compiled."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

from ..runtime import _ffi_api
from . import tar as _tar
from . import utils


def _names(value: Sequence[str] | str | None) -> list[str]:
    if value is None:
        return []
    return [value] if isinstance(value, str) else list(value)


def get_cc() -> str | None:
    """The C++ compiler: ``$CXX``, ``$CC``, or the first of g++, gcc, clang++, clang, c++, cc that is there."""
    if sys.platform == "win32":
        return None
    for name in ("CXX", "CC"):
        if os.environ.get(name):
            return os.environ[name]
    for program in ("g++", "gcc", "clang++", "clang", "c++", "cc"):
        if shutil.which(program):
            return program
    return None


def _run(command: list[str], what: str, env: Any = None, cwd: str | None = None) -> None:
    full_env = {**os.environ, **env} if env else None
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=full_env, cwd=cwd, check=False)
    if done.returncode != 0:
        text = done.stdout.decode("utf-8", "replace")
        raise RuntimeError(f"{what}:\n{text}\nCommand line: {' '.join(command)}")


def _compiler(cc: str | None) -> str:
    cc = cc or get_cc()
    if not cc:
        raise ValueError("no C++ compiler found; install g++ or clang, set CXX, or give cc=...")
    return cc


def _link(output: str, objects: Any, options: Any, cc: str, flags: list[str], env: Any, cwd: str | None) -> None:
    with utils.tempdir() as temp:
        files = _tar.normalize_file_list_by_unpacking_tars(temp, _names(objects))
        for file in files:
            path = os.path.join(cwd or "", file)
            if file.endswith((".o", ".so")) and os.path.isfile(path):
                _ffi_api.CheckSeal(path, "object file")
        _run([cc, *flags, "-o", os.fspath(output), *files, *_names(options)], "Compilation error", env, cwd)


def create_shared(
    output: str,
    objects: Sequence[str] | str,
    options: Sequence[str] | str | None = None,
    cc: str | None = None,
    cwd: str | None = None,
    ccache_env: dict[str, str] | None = None,
) -> None:
    """Links objects, sources and archives of them into a shared library, with a checksum behind its last byte that
    `load_module` looks at."""
    flags = ["-shared", "-fPIC"]
    if sys.platform == "darwin":
        flags += ["-undefined", "dynamic_lookup"]
    _link(output, objects, options, _compiler(cc), flags, ccache_env, cwd)
    _ffi_api.SealFile(os.path.join(cwd or "", output))


create_shared.output_format = "so"  # type: ignore[attr-defined]


def create_executable(
    output: str,
    objects: Sequence[str] | str,
    options: Sequence[str] | str | None = None,
    cc: str | None = None,
    cwd: str | None = None,
    ccache_env: dict[str, str] | None = None,
) -> None:
    """Links objects and sources into a program."""
    _link(output, objects, options, _compiler(cc), [], ccache_env, cwd)


def create_staticlib(output: str, inputs: Sequence[str] | str, ar: str | None = None) -> None:
    """Packs objects into a static library."""
    with utils.tempdir() as temp:
        files = _tar.normalize_file_list_by_unpacking_tars(temp, _names(inputs))
        _run([ar or "ar", "qcs", output, *files], "Archive error")


def get_target_by_dump_machine(compiler: str) -> Callable[[], str | None]:
    """A function that asks the compiler which machine it makes code for."""

    def get_target_triple() -> str | None:
        try:
            done = subprocess.run([compiler, "-dumpmachine"], capture_output=True, text=True, check=False)
        except OSError:
            return None
        return done.stdout.strip() or None

    return get_target_triple


create_shared.get_target_triple = (  # type: ignore[attr-defined]
    lambda: get_target_by_dump_machine(os.environ.get("CXX") or get_cc() or "cc")()
)


def _machine_of(triple: str) -> tuple[str, str]:
    """Architecture and environment of a triple, as the names of Debian's compilers have them."""
    parts = triple.split("-")
    arch, environment = parts[0], parts[-1]
    if arch.startswith(("arm", "thumb")) and arch != "arm64":
        arch = "arm"
    return {"arm64": "aarch64", "amd64": "x86_64"}.get(arch, arch), environment


def find_cross_compiler(triple: str) -> str | None:
    """The C++ compiler that links for a triple ("armv7l-linux-gnueabihf"); None where that is this very machine."""
    arch, environment = _machine_of(triple)
    if arch == _machine_of(platform.machine())[0]:
        return None
    name = f"{arch}-linux-{environment if environment.startswith('gnu') else 'gnu'}"
    for program in (f"{name}-g++", f"{name}-gcc"):
        if shutil.which(program):
            return program
    raise RuntimeError(
        f"no compiler that links for {triple} is installed: on Debian it is the package g++-{name.replace('_', '-')}. "
        "Or give export_library an fcompile, such as tvm.contrib.cc.cross_compiler(compiler)"
    )


def cross_compiler(
    compile_func: Callable[..., Any] | str,
    options: Sequence[str] | None = None,
    output_format: str | None = None,
    get_target_triple: Callable[[], str | None] | None = None,
    add_files: Sequence[str] | None = None,
) -> Callable[..., Any]:
    """An `fcompile` for export_library that uses another compiler, with options and files added."""
    base_options = _names(options)
    extra_files = _names(add_files)
    if isinstance(compile_func, str):
        program = compile_func
        compile_func = create_shared
        fixed: dict[str, Any] = {"cc": program}
        get_target_triple = get_target_triple or get_target_by_dump_machine(program)
    else:
        fixed = {}
    inner = compile_func

    def compile(outputs: str, objects: Sequence[str] | str, options: Any = None, **kwargs: Any) -> Any:
        all_options = base_options + _names(options)
        return inner(outputs, _names(objects) + extra_files, options=all_options, **fixed, **kwargs)

    compile.output_format = output_format or getattr(inner, "output_format", "so")  # type: ignore[attr-defined]
    compile.get_target_triple = get_target_triple  # type: ignore[attr-defined]
    return compile
