"""Scripts that say `import tvm` run unchanged."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[3] / "python"


def run(*arguments, cwd=None, path=str(PACKAGE)):
    env = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=env, cwd=cwd, check=False, timeout=120
    )


def as_tvm(*arguments, cwd=None):
    return run("-m", "tessera.as_tvm", *arguments, cwd=cwd)


@pytest.fixture
def script(tmp_path):
    def write(text, name="script.py"):
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


def test_modules_are_the_same_objects_under_both_names(script):
    done = as_tvm(
        script(
            "import tvm, tessera, tvm.runtime.ndarray as nd\n"
            "from tvm.contrib import cc\n"
            "import tessera.contrib.cc\n"
            "assert tvm is tessera and nd is tessera.runtime.ndarray and cc is tessera.contrib.cc\n"
            "assert nd.NDArray is tessera.nd.NDArray\n"
            "assert nd.__name__ == nd.__spec__.name == 'tessera.runtime.ndarray'\n"
            "print('same')\n"
        )
    )
    assert done.stdout == "same\n", done.stderr


def test_importing_a_submodule_leaves_what_has_its_name(script):
    """In every package, for every submodule that shares its name with a function or class there."""
    done = as_tvm(
        script(
            "import importlib, pkgutil, sys, types, tvm\n"
            "import tvm.relay, tvm.relay.testing, tvm.topi, tvm.testing\n"
            "found = [info.name for info in pkgutil.walk_packages(tvm.__path__, 'tvm.')]\n"
            "shared = set()\n"
            "for name in found:\n"
            "    package, _, child = name.rpartition('.')\n"
            "    if package.endswith('__main__') or child == '__main__':\n"
            "        continue\n"
            "    try:\n"
            "        before = vars(importlib.import_module(package)).get(child)\n"
            "        module = importlib.import_module(name)\n"
            "    except ModuleNotFoundError as error:\n"
            "        assert error.name == 'torch'  # not installed\n"
            "        continue\n"
            "    assert module is sys.modules[name.replace('tvm', 'tessera', 1)]\n"
            "    if before is not None and not isinstance(before, types.ModuleType):\n"
            "        shared.add(name)\n"
            "        assert getattr(sys.modules[package], child) is before, name\n"
            "    else:\n"
            "        assert getattr(sys.modules[package], child) is module or name in shared, name\n"
            "assert {'tvm.target.generic_func', 'tvm.relay.testing.check_grad', 'tvm.topi.nn.dense'} <= shared, shared\n"
            "print('kept')\n"
        )
    )
    assert done.stdout == "kept\n", done.stderr


@pytest.mark.parametrize("package", ["tvm", "tessera"])
def test_a_submodule_that_shares_its_name_can_be_imported_first(script, package):
    done = as_tvm(
        script(
            f"import {package}.target.generic_func, {package}.relay\n"
            f"from {package}.target.generic_func import GenericFunc\n"
            f"print(type({package}.target.generic_func).__name__)\n"
        )
    )
    assert done.stdout == "function\n", done.stderr


def test_the_script_sees_itself_as_main_with_its_arguments_and_neighbours(script):
    script("value = 42\n", "neighbour.py")
    path = script("import sys, neighbour\nprint(__name__, __file__, sys.argv, neighbour.value)\n")
    done = as_tvm(path, "--x", "1")
    assert done.stdout.strip() == f"__main__ {path} {[path, '--x', '1']} 42", done.stderr


def test_a_traceback_begins_in_the_script(script):
    path = script("def f():\n    raise ValueError('gone wrong')\n\n\nf()\n")
    done = as_tvm(path)
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[0].startswith("Traceback") and lines[1] == f'  File "{path}", line 5, in <module>'
    assert lines[-1] == "ValueError: gone wrong"
    assert "as_tvm" not in done.stderr


def test_the_exit_status_is_the_scripts(script):
    assert as_tvm(script("raise SystemExit(7)\n")).returncode == 7


def test_a_missing_module_is_named_as_the_script_named_it(script):
    done = as_tvm(script("import tvm.nonesuch\n"))
    assert "No module named 'tvm.nonesuch'" in done.stderr


def test_child_processes_know_the_name(script):
    done = as_tvm(
        script(
            "import subprocess, sys\n"
            "code = 'import tvm.runtime, tessera; print(tvm is tessera)'\n"
            "print(subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, cwd='/').stdout)\n"
            "module = [sys.executable, '-m', 'tvm.as_tvm', '-c', 'print(__name__)']\n"
            "print(subprocess.run(module, capture_output=True, text=True, cwd='/').stdout)\n"
        )
    )
    assert done.stdout.split() == ["True", "__main__"], done.stderr


def test_spawned_workers_know_the_name(script):
    done = as_tvm(
        script(
            "import multiprocessing, tvm\n"
            "def work(x):\n"
            "    return tvm.runtime.String(x)\n"
            "if __name__ == '__main__':\n"
            "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
            "        print(pool.map(work, ['done']))\n"
        )
    )
    assert done.stdout.strip() == "['done']", done.stderr


def test_the_alias_can_be_imported_in_a_program():
    done = run("-c", "import tessera.as_tvm, tvm.contrib.utils, tessera; print(tvm is tessera)")
    assert done.stdout == "True\n", done.stderr


def test_code_and_modules_can_be_run():
    assert as_tvm("-c", "import tvm, sys; print(sys.argv[1])", "x").stdout == "x\n"
    assert as_tvm("-m", "json.tool", "--help").returncode == 0


def test_a_missing_script_is_an_error_that_names_it():
    done = as_tvm("nonesuch.py")
    assert done.returncode == 1 and "no script nonesuch.py" in done.stderr


def test_a_wrong_name_is_told_as_the_script_knows_the_module():
    done = as_tvm("-c", "import tvm\nfrom tvm import te\nte.nonesuch")
    assert "AttributeError: module 'tvm.te' has no attribute 'nonesuch'" in done.stderr
