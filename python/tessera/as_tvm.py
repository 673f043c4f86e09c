"""Scripts that say ``import tvm``, unchanged on Tessera.

    python -m tessera.as_tvm script.py args...      (also -m module, -c code)

or, in a program, ``import tessera.as_tvm`` before the first ``import tvm``. Every ``tvm.x.y`` is the module object
``tessera.x.y``, so classes are the same under both names. Child processes know the name too: the folder of a package
`tvm` that leads here is put on PYTHONPATH.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import io
import os
import runpy
import sys
import types
from collections.abc import Sequence
from typing import Any

from ._package import AliasLoader

_ALIAS = "tvm"
_PACKAGE = "tessera"


def _real_name(name: str) -> str:
    return _PACKAGE + name[len(_ALIAS) :]


class _AliasFinder(importlib.abc.MetaPathFinder):
    is_tessera_alias = True

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if fullname != _ALIAS and not fullname.startswith(_ALIAS + "."):
            return None
        real = importlib.util.find_spec(_real_name(fullname))
        if real is None:
            return None
        is_package = real.submodule_search_locations is not None
        spec = importlib.machinery.ModuleSpec(
            fullname, AliasLoader(_real_name(fullname)), origin=real.origin, is_package=is_package
        )
        if is_package:
            spec.submodule_search_locations = real.submodule_search_locations
        spec.has_location = True
        return spec


def install() -> None:
    """Makes ``import tvm`` mean this package, here and in child processes. A second time does nothing."""
    if any(getattr(finder, "is_tessera_alias", False) for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, _AliasFinder())
    for name in [name for name in sys.modules if name.startswith(_ALIAS + ".")]:
        del sys.modules[name]  # what another package of that name has left
    sys.modules[_ALIAS] = importlib.import_module(_PACKAGE)

    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_as_tvm")
    old = os.environ.get("PYTHONPATH", "")
    if folder not in sys.path:
        sys.path.append(folder)  # workers that multiprocessing spawns start with this list
    if folder not in old.split(os.pathsep):
        os.environ["PYTHONPATH"] = folder + (os.pathsep + old if old else "")


def _run_script(path: str, arguments: Sequence[str]) -> None:
    """Runs a script as ``python path arguments...`` does; a traceback begins in the script."""
    with io.open_code(os.path.abspath(path)) as file:
        source = file.read()
    main = types.ModuleType("__main__")
    main.__file__ = path
    main.__dict__["__builtins__"] = __builtins__
    main.__dict__["__cached__"] = None
    sys.modules["__main__"] = main
    sys.argv = [path, *arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(path))
    _run_code(source, path, main)


def _run_code(source: str | bytes, name: str, main: types.ModuleType) -> None:
    code = compile(source, name, "exec", dont_inherit=True)
    try:
        exec(code, main.__dict__)
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        trace = error.__traceback__.tb_next if error.__traceback__ else None
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        sys.exit(1)


def main(arguments: Sequence[str]) -> None:
    """The command line; see the module's text."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print("usage: python -m tessera.as_tvm (script.py | -m module | -c code) [arguments ...]")
        sys.exit(0 if arguments else 2)
    install()
    if arguments[0] in ("-m", "-c") and len(arguments) < 2:
        sys.exit(f"python -m tessera.as_tvm: {arguments[0]} needs an argument")
    if arguments[0] == "-m":
        sys.argv = list(arguments[1:])
        sys.path[0] = os.getcwd()
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    elif arguments[0] == "-c":
        module = types.ModuleType("__main__")
        sys.modules["__main__"] = module
        sys.argv = ["-c", *arguments[2:]]
        sys.path[0] = ""
        _run_code(arguments[1], "<string>", module)
    elif os.path.isfile(arguments[0]):
        _run_script(arguments[0], arguments[1:])
    else:
        sys.exit(f"python -m tessera.as_tvm: there is no script {arguments[0]}")


if __name__ == "__main__":
    main(sys.argv[1:])
else:
    install()
