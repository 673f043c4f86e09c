"""Executors, runtimes and their options, and what relay.build makes of them."""

import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from tessera.contrib import graph_executor
from tessera.relay.backend import Executor, Runtime


def test_an_executor_has_options_with_defaults():
    assert Executor("graph").name == "graph" and not Executor("graph")["link-params"]
    assert Executor("graph", {"link-params": True})["link-params"]
    aot = Executor("aot", {"interface-api": "c"})
    assert aot["interface-api"] == "c" and aot["link-params"]
    assert "interface-api" in aot and "unpacked-api" not in aot and "woof" not in aot
    assert str(Executor("graph", {"link-params": True})) == 'graph{"link-params": (bool)1}'
    assert str(Runtime("crt", {"system-lib": True})) == "crt"


def test_equal_choices_are_equal():
    assert Executor("graph") == Executor("graph", {"link-params": False}) != Executor("aot")
    assert hash(Runtime("cpp")) == hash(Runtime("cpp")) and Runtime("cpp") != Executor("graph")


def test_kinds_and_options_are_listed():
    assert sorted(Executor.list_registered()) == ["aot", "graph"]
    assert sorted(Runtime.list_registered()) == ["cpp", "crt"]
    assert Executor.list_registered_options("aot")["interface-api"] == "runtime.String"
    assert Executor.list_registered_options(Executor("graph")) == {"link-params": "IntImm"}
    assert Runtime.list_registered_options("cpp") == {"system-lib": "IntImm"}


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Executor("woof"), 'Executor "woof" is not defined; there are graph aot'),
        (lambda: Runtime("woof"), 'Runtime "woof" is not defined'),
        (
            lambda: Executor("graph", {"woof": 1}),
            'Attribute "woof" is not available on this Executor; graph has link-params',
        ),
        (
            lambda: Executor("aot", {"interface-api": True}),
            'Attribute "interface-api" should have type "runtime.String" but instead found "IntImm"',
        ),
        (lambda: Executor.list_registered_options("woof"), 'Executor "woof" is not defined'),
    ],
)
def test_what_does_not_exist_is_rejected(make, problem):
    with pytest.raises(tvm.TVMError, match=problem):
        make()


WEIGHT = np.arange(12, dtype="float32").reshape(3, 4)


@pytest.fixture(scope="module")
def program():
    x = relay.var("x", shape=(2, 4), dtype="float32")
    w = relay.var("w", shape=(3, 4), dtype="float32")
    return tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w))))


X = np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4)


def test_a_model_is_built_for_the_kinds_given(program):
    lib = relay.build(
        program, "llvm", executor=Executor("graph"), runtime=Runtime("cpp"), params={"w": WEIGHT}, mod_name="net"
    )
    assert lib.executor == Executor("graph") and lib.get_executor_config() == lib.get_graph_json()
    assert lib.get_devices() == []
    module = graph_executor.GraphModule(lib["net"](tvm.cpu()))
    module.run(x=X)
    np.testing.assert_allclose(module.get_output(0).numpy(), np.maximum(X @ WEIGHT.T, 0), rtol=1e-5)


def test_linked_parameters_are_in_the_library_itself(program, tmp_path):
    lib = relay.build(program, "llvm", executor=Executor("graph", {"link-params": True}), params={"w": WEIGHT})
    assert len(lib.get_params()) == 1
    lib.get_lib().export_library(str(tmp_path / "net.so"))
    for library in (lib.get_lib(), tvm.runtime.load_module(str(tmp_path / "net.so"))):
        module = graph_executor.create(lib.get_graph_json(), library, tvm.cpu())
        module.run(x=X)
        np.testing.assert_allclose(module.get_output(0).numpy(), np.maximum(X @ WEIGHT.T, 0), rtol=1e-5)
        assert list(module.get_input_info()[0]) == ["x"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"executor": Executor("aot")}, r'Executor\("aot"\) is not there yet; Executor\("graph"\)'),
        ({"runtime": Runtime("crt")}, r'Runtime\("crt"\) is not there yet; use Runtime\("cpp"\)'),
        ({"runtime": Runtime("cpp", {"system-lib": True})}, "system libraries are not there yet"),
    ],
)
def test_what_cannot_be_compiled_for_yet_is_said(program, options, problem):
    with pytest.raises(NotImplementedError, match=problem):
        relay.build(program, "llvm", **options)


def test_kinds_are_not_strings(program):
    with pytest.raises(TypeError, match="executor must be a relay.backend.Executor, not str"):
        relay.build(program, "llvm", executor="graph")


def test_a_build_module_gives_the_parts(program):
    builder = relay.build_module.BuildModule()
    graph, library, params = builder.build(program, "llvm", params={"w": WEIGHT})
    assert graph == builder.get_graph_json() and library.same_as(builder.get_module())
    assert set(params) == {"p0"} == set(builder.get_params())
    assert "main" in [str(var.name_hint) for var in builder.get_irmodule().get_global_vars()]
    optimized, left = builder.optimize(program, "llvm", params={"w": WEIGHT})
    assert "main" in [str(var.name_hint) for var in optimized.get_global_vars()] and left == {}
