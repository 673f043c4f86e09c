"""Models cut for external code generators: what they take, and what stays."""

import numpy as np
import pytest
import tessera
from tessera import relay
from tessera.relay.op import contrib
from tessera.relay.op.contrib import cutlass, ethosn, tensorrt


def parts(mod, compiler):
    """The names of composites in the functions of a compiler."""
    found = []

    def visit(node):
        if isinstance(node, relay.Function) and node.attrs and "Composite" in node.attrs:
            found.append(str(node.attrs["Composite"]))

    for function in mod.functions.values():
        if function.attrs and str(function.attrs.get("Compiler", "")) == compiler:
            relay.analysis.post_order_visit(function.body, visit)
    return sorted(found)


def module(body):
    return tessera.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))


def conv(layout="NCHW", kernel="OIHW", dtype="float32", weight=None):
    shapes = {"NCHW": (1, 8, 6, 6), "NHWC": (1, 6, 6, 8), "OIHW": (8, 8, 3, 3), "OHWI": (8, 3, 3, 8)}
    x = relay.var("x", shape=shapes[layout], dtype=dtype)
    w = relay.var("w", shape=shapes[kernel], dtype=dtype) if weight is None else weight
    return relay.nn.conv2d(
        x, w, channels=8, kernel_size=(3, 3), padding=(1, 1), data_layout=layout, kernel_layout=kernel, out_dtype=dtype
    )


def test_cudnn_takes_convolutions_with_bias_and_activation_and_softmax():
    body = relay.nn.softmax(relay.exp(relay.nn.relu(relay.nn.bias_add(conv(), relay.var("b", shape=(8,))))), axis=1)
    out = contrib.partition_for_cudnn(module(body))
    assert parts(out, "cudnn") == ["cudnn.conv2d_bias_act", "cudnn.softmax"] and "exp" in str(out["main"])
    other = contrib.partition_for_cudnn(module(conv("NHWC", "OHWI")))
    assert parts(other, "cudnn") == []


@pytest.mark.parametrize(
    "dtype, out_dtype, is_taken",
    [("float32", "float32", True), ("int8", "int32", True), ("int8", "int8", False), ("int32", "int32", False)],
)
def test_cublas_takes_matmuls_of_its_types(dtype, out_dtype, is_taken):
    x, w = relay.var("x", shape=(4, 8), dtype=dtype), relay.var("w", shape=(5, 8), dtype=dtype)
    out = contrib.partition_for_cublas(module(relay.nn.dense(x, w, out_dtype=out_dtype)))
    assert parts(out, "cublas") == (["cublas.dense"] if is_taken else [])


def test_a_partitioned_model_gives_the_answers_it_gave():
    mod = module(relay.nn.relu(relay.nn.dense(relay.var("x", shape=(4, 8)), relay.var("w", shape=(5, 8)))))
    params = {"w": np.random.default_rng(0).random((5, 8)).astype("float32")}
    out = contrib.partition_for_cublas(mod, params)
    names = [var for var, f in out.functions.items() if f.attrs and "Compiler" in f.attrs]
    assert len(names) == 1
    back = relay.transform.InferType()(relay.transform.InlineCompilerFunctionsBoundTo(names)(out))
    data = np.random.default_rng(1).random((4, 8)).astype("float32")
    found = relay.create_executor("vm", mod=back, target="llvm").evaluate()(data).numpy()
    np.testing.assert_allclose(found, np.maximum(data @ params["w"].T, 0), 1e-5)


def test_cutlass_takes_the_longest_pattern():
    body = relay.nn.relu(
        relay.nn.bias_add(conv("NHWC", "OHWI", "float16"), relay.var("b", shape=(8,), dtype="float16"), axis=3)
    )
    assert parts(contrib.partition_for_cutlass(module(body)), "cutlass") == ["cutlass.conv2d_bias_relu"]
    assert parts(contrib.partition_for_cutlass(module(conv())), "cutlass") == []
    x, w = relay.var("x", shape=(4, 8), dtype="float16"), relay.var("w", shape=(5, 8), dtype="float16")
    assert parts(contrib.partition_for_cutlass(module(relay.nn.dense(x, w))), "cutlass") == ["cutlass.dense"]
    with pytest.raises(ValueError, match="Unknown activation odd"):
        cutlass.make_gemm_pattern(with_act="odd")


def weight(*shape):
    return relay.const(np.random.default_rng(0).random(shape).astype("float32"))


def test_tensorrt_takes_layers_with_constant_weights_in_one_function():
    body = relay.nn.relu(conv(weight=weight(8, 8, 3, 3)))
    body = relay.reshape(relay.nn.max_pool2d(body, (2, 2), (2, 2)), (1, -1))
    out = contrib.partition_for_tensorrt(module(relay.nn.dense(body, weight(4, 72))))
    functions = [f for f in out.functions.values() if f.attrs and "Compiler" in f.attrs]
    assert len(functions) == 1
    assert parts(out, "tensorrt") == [
        "tensorrt.nn.conv2d",
        "tensorrt.nn.dense",
        "tensorrt.nn.max_pool2d",
        "tensorrt.nn.relu",
        "tensorrt.reshape",
    ]


def test_tensorrt_leaves_what_changes_the_batch_and_other_types():
    x = relay.var("x", shape=(2, 3))
    assert parts(contrib.partition_for_tensorrt(module(relay.transpose(x))), "tensorrt") == []
    named = contrib.partition_for_tensorrt(module(relay.transpose(x)), target="tensorrt -use_implicit_batch=False")
    assert parts(named, "tensorrt") == ["tensorrt.transpose"]
    whole = relay.var("i", shape=(2, 3), dtype="int32")
    assert parts(contrib.partition_for_tensorrt(module(relay.abs(whole))), "tensorrt") == []


def test_functions_that_are_not_worth_an_engine_go_back():
    out = contrib.partition_for_tensorrt(
        module(relay.exp(relay.var("x", shape=(2, 3)))), target="tensorrt -remove_no_mac_subgraphs=True"
    )
    assert [var.name_hint for var in out.get_global_vars()] == ["main"]


def test_dropout_is_taken_out():
    x = relay.var("x", shape=(2, 3))
    function = relay.Function([x], relay.exp(relay.nn.dropout(x)))
    assert "dropout" not in str(tensorrt.RemoveDropout().visit(function))


def test_what_is_not_there_says_so():
    assert not tensorrt.is_tensorrt_runtime_enabled() and not tensorrt.is_tensorrt_compiler_enabled()
    assert not ethosn.ethosn_available() and ethosn.Available.SW_ONLY
    assert tensorrt.get_tensorrt_version() == (6, 0, 1)
    assert contrib.get_pattern_table("nonesuch") is None and contrib.get_pattern_table("cudnn")
