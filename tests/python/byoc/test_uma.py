"""UMA: an accelerator as one class."""

import numpy as np
import pytest
import tessera
from tessera import relay, tir
from tessera.contrib import graph_executor
from tessera.relay.backend.contrib.uma import UMABackend, uma_available
from tessera.relay.backend.contrib.uma.api import UMAPartitioner
from tessera.relay.backend.contrib.uma.api.utils import PassPhase
from tessera.relay.dataflow_pattern import is_op, wildcard


class Backend(UMABackend):
    """Takes dense with relu."""

    name = "tests_uma"

    def __init__(self, **options):
        super().__init__(**options)
        self._register_target_attr("level", 3)
        self._register_pattern("dense_relu", is_op("nn.relu")(is_op("nn.dense")(wildcard(), wildcard())))

    @property
    def target_name(self):
        return self.name


def model():
    x = relay.var("x", shape=(2, 4))
    weight = relay.var("w", shape=(3, 4))
    body = relay.exp(relay.nn.relu(relay.nn.dense(x, weight)))
    return relay.transform.InferType()(tessera.IRModule.from_expr(relay.Function([x, weight], body)))


PARAMS = {"w": np.arange(12, dtype="float32").reshape(3, 4) / 12 - 0.5}
X = np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4)
WANTED = np.exp(np.maximum(X @ PARAMS["w"].T, 0))


def run(lib):
    graph = graph_executor.GraphModule(lib["default"](tessera.cpu()))
    graph.run(x=X)
    return graph.get_output(0).numpy()


def test_patterns_become_functions_that_are_compiled_as_loops():
    assert uma_available()
    backend = Backend()
    backend.register()
    parts = backend.partition(model(), PARAMS)
    function = parts["tvmgen_default_tests_uma_main_0"]
    assert str(function.attrs["Compiler"]) == "tests_uma" and 'Composite="tests_uma.dense_relu"' in str(function)
    target = tessera.target.Target("tests_uma -level=4")
    assert int(target.attrs["level"]) == 4 and int(tessera.target.Target("tests_uma").attrs["level"]) == 3
    np.testing.assert_allclose(run(relay.build(parts, target=["llvm", target])), WANTED, rtol=1e-5)


def test_passes_change_graphs_and_loops():
    seen = []

    class Changing(Backend):
        name = "tests_uma_passes"

    @tessera.transform.module_pass(opt_level=0)
    def watch(mod, context):
        seen.append("graph")
        return mod

    @tir.transform.prim_func_pass(opt_level=0)
    def double(function, mod, context):
        def scaled(store):
            return (
                tir.BufferStore(store.buffer, store.value, store.indices)
                if isinstance(store, tir.BufferStore)
                else None
            )

        seen.append("loops")
        return function.with_body(tir.stmt_functor.ir_transform(function.body, None, scaled, ["tir.BufferStore"]))

    backend = Changing()
    backend._register_relay_pass(PassPhase.PRE_PARTITIONING, watch)
    backend._register_relay_pass(PassPhase.POST_PARTITIONING_0, watch)
    backend._register_tir_pass(PassPhase.TIR_PHASE_0, double)
    backend.register()
    lib = relay.build(backend.partition(model(), PARAMS), target="llvm")
    assert seen == ["graph", "graph", "loops"]
    np.testing.assert_allclose(run(lib), WANTED, rtol=1e-5)


def test_c_is_written_with_the_backends_includes(tmp_path):
    class Writing(Backend):
        name = "tests_uma_c"

    backend = Writing()
    backend._register_codegen(fmt="c", includes=lambda: "#include <math.h>  /* mine */")
    backend.register()
    lib = relay.build(backend.partition(model(), PARAMS), target="llvm")
    (code,) = [m for m in lib.get_lib().imported_modules if m.type_key == "c"]
    assert code.get_source().startswith("#include <math.h>  /* mine */\n")
    path = str(tmp_path / "lib.so")
    lib.export_library(path)
    np.testing.assert_allclose(run(tessera.runtime.load_module(path)), WANTED, rtol=1e-5)
    with pytest.raises(RuntimeError, match='Unsupported codegen format "cuda"'):
        backend._register_codegen(fmt="cuda")


def test_regions_stay_apart_where_a_backend_says_so():
    x = relay.var("x", shape=(4, 4))
    two = relay.nn.relu(relay.nn.dense(relay.nn.relu(relay.nn.dense(x, x)), x))
    mod = relay.transform.InferType()(tessera.IRModule.from_expr(relay.Function([x], two)))

    def functions(merge):
        partitioner = UMAPartitioner("tests_uma_apart", merge)
        partitioner.add_pattern("dr", is_op("nn.relu")(is_op("nn.dense")(wildcard(), wildcard())))
        return len(partitioner.partition(mod).get_global_vars()) - 1

    assert functions(True) == 1 and functions(False) == 2
