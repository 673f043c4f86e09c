"""A model that was compiled before is neither scheduled nor lowered again; see src/kernel/cached_kernels.h."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import tessera as tvm
from tessera import relay

info = tvm.get_global_func("codegen.cache_info")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.delenv("TESSERA_CACHE", raising=False)
    monkeypatch.setenv("TESSERA_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def model():
    """A chain whose additions are done in place, and a matmul whose result may not be written over its arguments."""
    x = relay.var("x", shape=(8, 8))
    y = relay.nn.dense(x, relay.nn.softmax(x))
    z = relay.nn.softmax(y)
    return tvm.IRModule.from_expr(relay.Function([x], relay.add(relay.nn.softmax(relay.transpose(z)), z)))


def build(config=None, **context):
    with tvm.transform.PassContext(opt_level=3, config=config or {}, **context):
        return relay.build(model(), "llvm")


def answer(lib):
    graph = tvm.contrib.graph_executor.GraphModule(lib["default"](tvm.cpu()))
    graph.run(x=np.random.default_rng(0).standard_normal((8, 8)).astype("float32"))
    return graph.get_output(0).numpy()


def misses_of(action):
    before = int(info()["misses"])
    result = action()
    return int(info()["misses"]) - before, result


def test_the_second_build_looks_up_kernels_by_what_they_are_made_from(cache):
    first = build()
    misses, second = misses_of(build)
    assert misses == 0, "a kernel that is not found so is a miss, even where its lowered program is known"
    np.testing.assert_array_equal(answer(first), answer(second))


@pytest.mark.parametrize("switch", ["disabled_pass", "required_pass"])
def test_passes_of_kernels_that_are_switched_are_part_of_the_key(cache, switch):
    program = f"""
import sys
sys.path.insert(0, {str(os.path.dirname(__file__))!r})
from test_cached_kernels import build, misses_of
build()
assert misses_of(lambda: build({switch}=["tir.UnrollLoop"]))[0] > 0
options = {{"relay.FuseOps.max_depth": 256}}
assert misses_of(lambda: build(options, {switch}=["tir.UnrollLoop"]))[0] == 0, "options of graphs are not"
"""  # in a process without functions of users: with them kernels are known by their lowered programs
    subprocess.run([sys.executable, "-c", program], check=True, env=dict(os.environ))


def test_cached_kernels_can_be_read_and_exported(cache, tmp_path):
    first, second = build(), build()
    names = {name for name in first.function_metadata if name != "__tvm_main__"}
    text = second.get_lib().get_source("ll")
    assert len(names) > 1 and all(name in text for name in names)
    assert set(second.function_metadata) == set(first.function_metadata)
    for name in names:
        ours, theirs = (list(lib.function_metadata[name].workspace_sizes.values()) for lib in (first, second))
        assert [int(size) for size in ours] == [int(size) for size in theirs]
    second.export_library(str(tmp_path / "model.so"))
    np.testing.assert_array_equal(answer(tvm.runtime.load_module(str(tmp_path / "model.so"))), answer(first))


def test_options_are_part_of_the_key(cache):
    build()
    misses, _ = misses_of(lambda: build({"tir.disable_vectorize": True}))
    assert misses > 0


def test_passes_of_users_see_all_kernels(cache):
    build()
    seen = []

    @tvm.tir.transform.prim_func_pass(opt_level=0)
    def watch(function, mod, context):
        seen.append(function)
        return function

    build({"tir.add_lower_pass": [(1, watch)]})
    assert len(seen) > 1


def test_an_extended_compiler_keeps_to_itself(cache):
    """In a process of its own: there is no way back."""
    program = f"""
import sys
sys.path.insert(0, {os.path.dirname(__file__)!r})
import test_cached_kernels as t, tessera as tvm
t.build()
assert t.misses_of(t.build)[0] == 0
tvm.ir.register_op_attr("exp", "a_note", 1)
before = set(__import__("os").listdir({str(cache)!r}))
t.build({{"tir.disable_vectorize": True}})
new = set(__import__("os").listdir({str(cache)!r})) - before
assert 0 < len(new) < len(t.build().function_metadata), "only lowered programs are kept"
"""
    subprocess.run([sys.executable, "-c", program], check=True, env=dict(os.environ))


def test_a_damaged_entry_is_compiled_again(cache):
    first = build()
    for path in cache.iterdir():
        path.write_bytes(path.read_bytes()[:-100])
    np.testing.assert_array_equal(answer(build()), answer(first))


def test_kernels_of_the_virtual_machine_are_cached_too(cache):
    x = relay.var("x", shape=(relay.Any(), 8))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.nn.softmax(relay.sqrt(relay.nn.softmax(x)))))

    def compiled():
        with tvm.transform.PassContext(opt_level=3):
            return relay.vm.compile(mod, "llvm")

    def answer_of(program):
        machine = tvm.runtime.vm.VirtualMachine(program, tvm.cpu())
        return machine.run(np.random.default_rng(0).standard_normal((3, 8)).astype("float32")).numpy()

    first = compiled()
    misses, second = misses_of(compiled)
    assert misses == 0
    np.testing.assert_array_equal(answer_of(second), answer_of(first))
    assert "softmax" in second.lib.get_source("ll"), "what the code was made from can still be read"
