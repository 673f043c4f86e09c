"""Calls of libraries from tensor expressions: what is there runs, of the others the call is made."""

import numpy as np
import pytest
import tessera
from tessera import te
from tessera.contrib import cblas, cublas, cublaslt, cudnn, dnnl, miopen, mkl, mps, nnpack, rocblas, thrust


def run(out, arguments, *arrays):
    function = tessera.build(te.create_schedule(out.op), [*arguments, out], "llvm")
    result = tessera.nd.empty([int(extent) for extent in out.shape], out.dtype)
    function(*map(tessera.nd.array, arrays), result)
    return result.numpy()


@pytest.mark.parametrize("transa", [False, True])
@pytest.mark.parametrize("transb", [False, True])
def test_blas_multiplies_matrices(transa, transb):
    rng = np.random.default_rng(0)
    x, y = rng.random((3, 5)).astype("float32"), rng.random((5, 4)).astype("float32")
    stored = [np.ascontiguousarray(x.T if transa else x), np.ascontiguousarray(y.T if transb else y)]
    a, b = (te.placeholder(array.shape) for array in stored)
    np.testing.assert_allclose(run(cblas.matmul(a, b, transa, transb), [a, b], *stored), x @ y, 1e-5)
    batches = [np.stack([array, 2 * array]) for array in stored]
    a, b = (te.placeholder(array.shape) for array in batches)
    for iterative in (False, True):
        out = run(cblas.batch_matmul(a, b, transa, transb, iterative=iterative), [a, b], *batches)
        np.testing.assert_allclose(out, np.stack([x @ y, 4 * x @ y]), 1e-5)


def test_what_blas_gives_goes_on_into_the_program():
    a, b, c = te.placeholder((2, 3)), te.placeholder((3, 2)), te.placeholder((2, 2))
    product = cblas.matmul(a, b)
    out = te.compute((2, 2), lambda i, j: product[i, j] + c[i, j])
    x, y, z = (np.random.default_rng(1).random(s).astype("float32") for s in ((2, 3), (3, 2), (2, 2)))
    np.testing.assert_allclose(run(out, [a, b, c], x, y, z), x @ y + z, 1e-5)


def packed_name(out):
    return out.op.body.value.args[0].value


@pytest.mark.parametrize(
    "make, name, shape",
    [
        (lambda a, b: mkl.matmul(a, b), "tvm.contrib.mkl.matmul", (6, 5)),
        (lambda a, b: dnnl.matmul(a, b), "tvm.contrib.dnnl.matmul", (6, 5)),
        (lambda a, b: cublas.matmul(a, b), "tvm.contrib.cublas.matmul", (6, 5)),
        (lambda a, b: cublaslt.matmul(a, b), "tvm.contrib.cublaslt.matmul", (6, 5)),
        (lambda a, b: rocblas.matmul(a, b), "tvm.contrib.rocblas.matmul", (6, 5)),
        (lambda a, b: mps.matmul(a, b), "tvm.contrib.mps.matmul", (6, 5)),
    ],
)
def test_matmuls_of_other_libraries_are_calls_of_their_functions(make, name, shape):
    out = make(te.placeholder((6, 4)), te.placeholder((4, 5)))
    assert packed_name(out) == name and tuple(int(e) for e in out.shape) == shape


def test_a_registered_function_is_what_the_program_calls():
    def multiply(a, b, c, transa, transb):
        c.copyfrom(a.numpy().astype("int32") @ b.numpy().astype("int32"))

    tessera.register_func("tvm.contrib.mkl.matmul_u8s8s32", multiply, override=True)
    a, b = te.placeholder((2, 3), "uint8"), te.placeholder((3, 2), "int8")
    x, y = np.full((2, 3), 200, "uint8"), np.full((3, 2), -100, "int8")
    out = run(mkl.matmul_u8s8s32(a, b), [a, b], x, y)
    assert out.dtype == "int32" and (out == -60000).all()


def test_shapes_of_cudnn():
    assert cudnn.conv_output_shape(0, 1, 2, 1, (1, 4, 9, 8), (6, 4, 3, 3), "float32", "float32") == [1, 6, 5, 4]
    assert cudnn.conv_output_shape(1, [0, 1], 1, 2, (1, 9, 8, 4), (6, 3, 3, 2), "float32", "float32", 2) == [1, 5, 6, 6]
    assert cudnn.conv_dgrad_shape(0, 1, 2, 1, (1, 6, 5, 4), (6, 4, 3, 3)) == [1, 4, 9, 7]
    x, w = te.placeholder((1, 4, 9, 9)), te.placeholder((6, 4, 3, 3))
    y = cudnn.conv_forward(x, w, [1, 1], [1, 1], [1, 1], 1, 0, -1, None)
    assert packed_name(y) == "tvm.contrib.cudnn.conv2d.forward" and [int(e) for e in y.shape] == [1, 6, 9, 9]
    dw = cudnn.conv_backward_filter(y, x, (3, 3), 1, 1, 1, 1, 0, None)
    assert [int(e) for e in dw.shape] == [6, 4, 3, 3]
    assert cudnn.algo_to_index("fwd", "CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD") == 6
    with pytest.raises(ValueError, match="data has 4 channels; a weight of 3 in 1 groups takes 3"):
        cudnn.conv_output_shape(0, 1, 1, 1, (1, 4, 9, 9), (6, 3, 3, 3), "float32", "float32")


def test_libraries_that_are_not_there_say_so():
    assert not cudnn.exists() and not nnpack.is_available()
    target = tessera.target.Target("cuda -libs=thrust")
    assert not thrust.can_use_thrust(target, "tvm.contrib.thrust.sort")
    tessera.register_func("tvm.contrib.thrust.some_sort", lambda *args: None)
    assert thrust.can_use_thrust(target, "tvm.contrib.thrust.some_sort")
    assert not thrust.can_use_rocthrust(target, "tvm.contrib.thrust.some_sort")


def test_calls_of_nnpack_and_miopen_have_the_shapes_of_their_results():
    x, w, bias = te.placeholder((2, 4, 9, 9)), te.placeholder((6, 4, 3, 3)), te.placeholder((6,))
    for out in (
        nnpack.convolution_inference(x, w, bias, [1, 1, 1, 1], [1, 1]),
        nnpack.convolution_inference(x, w, None, [1, 1, 1, 1], [1, 1]),
        miopen.conv2d_forward(x, w, pad_h=1, pad_w=1),
        dnnl.dnnl_conv2d(x, w, 1, 1, 1, 1),
    ):
        assert [int(e) for e in out.shape] == [2, 6, 9, 9]
    transformed = nnpack.convolution_inference_weight_transform(w, algorithm=nnpack.ConvolutionAlgorithm.WT_8x8)
    assert [int(e) for e in transformed.shape] == [6, 4, 8, 8]
    out = nnpack.convolution_inference_without_weight_transform(x, transformed, bias, [1, 1, 1, 1], [1, 1])
    assert [int(e) for e in out.shape] == [2, 6, 9, 9]
