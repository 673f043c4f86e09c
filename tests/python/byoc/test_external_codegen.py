"""Functions that external code generators compile: in Python and C++, with constants, options and hooks, on both executors."""

import numpy as np
import pytest
import tessera
from tessera import relay, te
from tessera.contrib import graph_executor
from tessera.relay import transform
from tessera.relay.backend import te_compiler  # noqa: F401  # v0.10's programs import it beside generators


def var(name, *shape):
    return relay.var(name, shape=shape)


def module(body):
    return transform.InferType()(tessera.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body)))


def partitioned(mod, *compilers, **options):
    passes = [transform.AnnotateTarget(list(compilers)), transform.MergeCompilerRegions()]
    return tessera.transform.Sequential([*passes, transform.PartitionGraph(**options)])(mod)


def takes(compiler, *operators):
    for name in operators:
        if not tessera.ir.Op.get(name).has_attr(f"target.{compiler}"):
            tessera.ir.register_op_attr(name, f"target.{compiler}", lambda call: True)


@pytest.fixture
def registered():
    """Registers global functions for one test."""
    names = []

    def register(name, function):
        tessera.register_func(name, function, override=True)
        names.append(name)

    yield register
    for name in names:
        tessera._ffi.registry.remove_global_func(name)


def built_by_te(function):
    """A generator that has each function's operators computed by TE: exp of its argument, whatever it says."""
    symbol = str(function.attrs["global_symbol"])
    shape = [int(n) for n in function.params[0].checked_type.shape]
    A = te.placeholder(shape, name="A")
    B = te.compute(shape, lambda *i: A(*i) * 2.0, name="B")
    return tessera.build(te.create_schedule(B.op), [A, B], target="llvm", name=symbol)


def run_graph(mod, *inputs, target="llvm", path=None, **export):
    lib = relay.build(mod, target=target)
    if path is not None:
        lib.export_library(str(path), **export)
        lib = tessera.runtime.load_module(str(path))
    executor = graph_executor.GraphModule(lib["default"](tessera.cpu()))
    for i, data in enumerate(inputs):
        executor.set_input(i, data)
    executor.run()
    return [executor.get_output(i).numpy() for i in range(executor.get_num_outputs())]


def run_vm(mod, *inputs):
    exe = relay.vm.compile(mod, target="llvm")
    machine = tessera.runtime.vm.VirtualMachine(exe, tessera.cpu())
    out = machine.run(*[tessera.nd.array(data) for data in inputs])
    return [field.numpy() for field in out] if not hasattr(out, "numpy") else [out.numpy()]


X = np.linspace(-1, 1, 12, dtype="float32").reshape(3, 4)


@pytest.mark.parametrize("run", [run_graph, run_vm])
def test_a_generator_in_python_compiles_a_function_and_the_rest_is_ours(registered, run):
    registered("relay.ext.tests_te", built_by_te)
    takes("tests_te", "nn.relu")
    mod = partitioned(module(relay.exp(relay.nn.relu(relay.tanh(var("x", 3, 4))))), "tests_te")
    np.testing.assert_allclose(run(mod, X)[0], np.exp(2 * np.tanh(X)), rtol=1e-5)


@pytest.mark.parametrize("run", [run_graph, run_vm])
@pytest.mark.parametrize(
    "attrs", [{"Compiler": "tests_te"}, {"Compiler": "tests_te", "Primitive": 1}, {"Primitive": 1}]
)
def test_a_kernel_that_a_module_has_by_name_is_called(registered, run, attrs):
    registered("relay.ext.tests_te", built_by_te)
    inner = var("y", 3, 4)
    kernel = relay.Function([inner], relay.add(inner, inner)).with_attr("global_symbol", "twice")
    for name, value in attrs.items():
        kernel = kernel.with_attr(name, value if isinstance(value, str) else tessera.tir.IntImm("int32", value))
    x, twice = var("x", 3, 4), relay.GlobalVar("twice")
    mod = tessera.IRModule({twice: kernel})
    mod["main"] = relay.Function([x], relay.exp(twice(relay.tanh(x))))
    np.testing.assert_allclose(run(transform.InferType()(mod), X)[0], np.exp(2 * np.tanh(X)), rtol=1e-5)


@pytest.mark.parametrize("run", [run_graph, run_vm])
def test_functions_of_a_module_call_each_other(run):
    y, z, x = var("y", 3, 4), var("z", 3, 4), var("x", 3, 4)
    once, twice = relay.GlobalVar("once"), relay.GlobalVar("twice")
    mod = tessera.IRModule({once: relay.Function([y], relay.exp(y)), twice: relay.Function([z], once(once(z)))})
    mod["main"] = relay.Function([x], relay.add(twice(x), once(x)))
    np.testing.assert_allclose(run(mod, X)[0], np.exp(np.exp(X)) + np.exp(X), rtol=1e-5)


def test_a_model_for_a_generator_that_is_not_there_says_which_are():
    takes("tests_nobody", "nn.relu")
    mod = partitioned(module(relay.nn.relu(var("x", 3, 4))), "tests_nobody")
    with pytest.raises(ValueError, match='no external code generator is called "tests_nobody".*ccompiler, dnnl'):
        relay.build(mod, target="llvm")


def test_a_generator_that_returns_nothing_is_told_so(registered):
    registered("relay.ext.tests_nothing", lambda function: None)
    takes("tests_nothing", "nn.relu")
    mod = partitioned(module(relay.nn.relu(var("x", 3, 4))), "tests_nothing")
    with pytest.raises(TypeError, match="relay.ext.tests_nothing gave nothing for tvmgen_default_tests_nothing_main_0"):
        relay.build(mod, target="llvm")


def test_several_generators_take_their_parts_of_one_model(registered, tmp_path):
    registered("relay.ext.tests_te", built_by_te)
    takes("tests_te", "nn.relu")
    takes("ccompiler", "add", "subtract", "multiply")
    x, y = var("x", 3, 4), var("y", 4)
    mod = partitioned(module(relay.exp(relay.nn.relu(relay.add(x, y) * y))), "tests_te", "ccompiler")
    kinds = sorted(str(f.attrs["Compiler"]) for f in mod.functions.values() if f.attrs and "Compiler" in f.attrs)
    assert kinds == ["ccompiler", "tests_te"]
    other = np.arange(4, dtype="float32")
    (found,) = run_graph(mod, X, other, path=tmp_path / "lib.so", fcompile=False)
    # the generator of this file is one for TE's module, which is written into the library beside C and our own code
    np.testing.assert_allclose(found, np.exp(2 * (X + other) * other), rtol=1e-5)


@pytest.mark.parametrize("kind", ["function", "module"])
@pytest.mark.parametrize("run", [run_graph, run_vm])
def test_a_hook_gives_loop_programs_that_are_compiled_as_ours(registered, run, kind):
    def to_tir(mod):
        (name,) = mod.get_global_vars()
        A = te.placeholder((3, 4), name="A")
        program = te.create_prim_func([A, te.compute((3, 4), lambda i, j: A[i, j] + 10.0, name="B")])
        return program if kind == "function" else tessera.IRModule({name: program})

    registered("relay.ext.tests_hook.relay_to_tir", to_tir)
    takes("tests_hook", "nn.relu")
    mod = partitioned(module(relay.exp(relay.nn.relu(relay.negative(var("x", 3, 4))))), "tests_hook")
    np.testing.assert_allclose(run(mod, X)[0], np.exp(10 - X), rtol=1e-5)


def test_options_of_a_generator_are_those_of_its_target(registered):
    seen = []

    def generate(function):
        seen.append(tessera.target.Target.current().attrs["header"])
        return built_by_te(function)

    registered("relay.ext.tests_te", built_by_te)
    original = tessera.get_global_func("relay.ext.ccompiler")
    try:
        tessera.register_func("relay.ext.ccompiler", generate, override=True)
        takes("ccompiler", "nn.relu")
        targets = [tessera.target.Target("llvm"), tessera.target.Target({"kind": "ccompiler", "header": "// mine"})]
        (found,) = run_graph(partitioned(module(relay.nn.relu(var("x", 3, 4))), "ccompiler"), X, target=targets)
    finally:
        tessera.register_func("relay.ext.ccompiler", original, override=True)
    assert [str(text) for text in seen] == ["// mine"]
    np.testing.assert_allclose(found, 2 * X)


def test_ccompiler_writes_c_with_the_header_of_its_target(tmp_path):
    takes("ccompiler", "add", "subtract", "multiply")
    x = var("x", 3, 4)
    body = relay.multiply(relay.subtract(x, relay.const(np.float32(0.5))), relay.const(X[:1] + 2))
    mod = partitioned(module(relay.exp(body)), "ccompiler")
    wanted = np.exp((X - 0.5) * (X[:1] + 2))
    targets = [tessera.target.Target("llvm"), tessera.target.Target({"kind": "ccompiler", "header": "#define MINE 1"})]
    lib = relay.build(mod, target=targets)
    (code,) = [m for m in lib.get_lib().imported_modules if m.type_key == "c"]
    assert code.get_source().startswith("#define MINE 1\n") and code["get_func_names"]() is not None
    (found,) = run_graph(mod, X, target=targets, path=tmp_path / "lib.so", fcompile=False)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    bad = [targets[0], tessera.target.Target({"kind": "ccompiler", "header": "Lorem ipsum"})]
    with pytest.raises(RuntimeError, match="Lorem"):
        run_graph(mod, X, target=bad, path=tmp_path / "bad.so")


def test_functions_of_different_bodies_cannot_share_a_symbol(registered):
    registered("relay.ext.tests_te", built_by_te)
    x = var("x", 3, 4)

    def external(op):
        p = var("p", 3, 4)
        f = relay.Function([p], op(p)).with_attr("Primitive", tessera.tir.IntImm("int32", 1))
        return f.with_attr("Compiler", "tests_te").with_attr("global_symbol", "same")

    mod = module(relay.Call(external(relay.exp), [relay.Call(external(relay.tanh), [x])]))
    with pytest.raises(ValueError, match="two different functions for external code generators have the symbol same"):
        relay.build(mod, target="llvm")


@pytest.mark.parametrize("run", [run_graph, run_vm])
def test_constants_inside_kernels_become_parameters(run):
    weight = np.arange(8, dtype="float32").reshape(2, 4)
    x = var("x", 3, 4)
    mod = module(relay.nn.relu(relay.nn.dense(x, relay.const(weight)) + relay.const(np.float32([1, 2]))))
    with tessera.transform.PassContext(opt_level=3, config={"relay.FuseOps.link_params": True}):
        (found,) = run(mod, X)
    np.testing.assert_allclose(found, np.maximum(X @ weight.T + [1, 2], 0), rtol=1e-5)


def test_a_kernel_says_which_generator_made_it(registered):
    registered("relay.ext.tests_te", built_by_te)
    takes("tests_te", "nn.relu")
    mod = partitioned(module(relay.exp(relay.nn.relu(var("x", 3, 4)))), "tests_te")
    lib = relay.build(mod, target="llvm")
    assert '"func_name": "tvmgen_default_tests_te_main_0"' in lib.get_graph_json()
    assert lib.get_lib()["tvmgen_default_fused_exp"]


def test_composites_are_computed_by_tensor_expressions(registered):
    from tessera import topi
    from tessera.relay.dataflow_pattern import is_op, wildcard
    from tessera.relay.op.contrib.te_target import lower_composite, relay_to_runtime

    @lower_composite("tests_tensors.scaled")
    def scaled(call, inputs):
        assert call.op.name == "nn.relu"
        return topi.nn.relu(topi.multiply(*inputs))

    registered("relay.ext.tests_tensors", relay_to_runtime(tessera.target.Target("llvm")))
    pattern = is_op("nn.relu")(is_op("multiply")(wildcard(), wildcard()))
    merge = transform.MergeComposite([("tests_tensors.scaled", pattern)])
    mod = merge(module(relay.exp(relay.nn.relu(relay.multiply(var("x", 3, 4), var("y", 4))))))
    mod = transform.PartitionGraph()(transform.AnnotateTarget("tests_tensors")(mod))
    other = np.float32([1, -2, 3, -4])
    np.testing.assert_allclose(run_graph(mod, X, other)[0], np.exp(np.maximum(X * other, 0)), rtol=1e-5)
