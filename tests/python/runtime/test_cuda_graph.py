"""A graph that is recorded once and launched as one CUDA graph answers like the graph executor."""

import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from tessera.contrib import graph_executor
from tessera.contrib.cuda_graph import cuda_graph_executor

needs_cuda = [pytest.mark.gpu, pytest.mark.skipif(not tvm.cuda(0).exist, reason="no CUDA device")]


def on_cuda(test):
    for mark in needs_cuda:
        test = mark(test)
    return test


def model(target):
    x = relay.var("x", relay.TensorType((16, 64), "float32"))
    w = relay.var("w", relay.TensorType((32, 64), "float32"))
    body = relay.nn.softmax(relay.nn.relu(relay.nn.dense(x, w)))
    weights = np.random.default_rng(0).uniform(-1, 1, (32, 64)).astype("float32")
    with tvm.transform.PassContext(opt_level=3):
        return relay.build(tvm.IRModule.from_expr(relay.Function([x, w], body)), target, params={"w": weights})


def data(seed):
    return np.random.default_rng(seed).uniform(-1, 1, (16, 64)).astype("float32")


def test_a_device_that_records_no_work_says_so():
    module = cuda_graph_executor.GraphModuleCudaGraph(model("llvm")["cuda_graph_create"](tvm.cpu()))
    module.set_input("x", data(0))
    with pytest.raises(NotImplementedError, match="cpu.* does not record work to launch it at once; CUDA devices do"):
        module.run()
    with pytest.raises(NotImplementedError, match="no outputs of single nodes"):
        module.debug_get_output(0, None)


@on_cuda
def test_what_was_recorded_reads_inputs_of_the_time_of_its_launch():
    lib = model(tvm.target.Target("cuda", host="llvm"))
    plain = graph_executor.GraphModule(lib["default"](tvm.cuda(0)))
    module = cuda_graph_executor.GraphModuleCudaGraph(lib["cuda_graph_create"](tvm.cuda(0)))
    module.set_input("x", data(0))
    module.capture_cuda_graph()
    for seed in (1, 2, 3):
        plain.run(x=data(seed))
        module.run(x=data(seed))
        np.testing.assert_array_equal(module.get_output(0).numpy(), plain.get_output(0).numpy())
    module.set_input("x", data(4))
    module.run_cuda_graph()
    plain.run(x=data(4))
    np.testing.assert_array_equal(module.get_output(0).numpy(), plain.get_output(0).numpy())


@on_cuda
def test_memory_that_is_replaced_is_recorded_again():
    lib = model(tvm.target.Target("cuda", host="llvm"))
    plain = graph_executor.GraphModule(lib["default"](tvm.cuda(0)))
    module = cuda_graph_executor.GraphModuleCudaGraph(lib["cuda_graph_create"](tvm.cuda(0)))
    module.run(x=data(0))
    lent = tvm.nd.array(data(1), tvm.cuda(0))
    module.module["set_input_zero_copy"]("x", lent)
    module.run()
    plain.run(x=data(1))
    np.testing.assert_array_equal(module.get_output(0).numpy(), plain.get_output(0).numpy())


@on_cuda
def test_an_executor_is_made_of_a_graph_and_a_library():
    lib = model(tvm.target.Target("cuda", host="llvm"))
    module = cuda_graph_executor.create(lib.get_graph_json(), lib.get_lib(), tvm.cuda(0))
    module.load_params(tvm.runtime.save_param_dict(lib.get_params()))
    plain = graph_executor.GraphModule(lib["default"](tvm.cuda(0)))
    module.run(x=data(5))
    plain.run(x=data(5))
    np.testing.assert_array_equal(module.get_output(0).numpy(), plain.get_output(0).numpy())
