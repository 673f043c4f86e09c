"""Instructions of NVIDIA's GPUs for `Stage.tensorize`: dot products of int8, and matrix fragments (WMMA)."""

from __future__ import annotations

from typing import Any

from ... import te, tir
from ...te.tensor_intrin import TensorIntrin
from ...tir.op_calls import call_intrin, call_pure_extern

__all__ = [
    "dp4a",
    "intrin_wmma_gemm",
    "intrin_wmma_load_matrix_A",
    "intrin_wmma_load_matrix_W",
    "intrin_wmma_store_matrix",
]


def dp4a(
    x_scope: str = "local", y_scope: str = "local", z_scope: str = "local", dtypes: tuple[str, str] = ("int8", "int8")
) -> TensorIntrin:
    """z[0] = sum of four multiplications of int8 or uint8, added to what z[0] is."""
    x_type, y_type = dtypes
    z_type = "uint32" if x_type == y_type == "uint8" else "int32"
    words = {"int8": "int32", "uint8": "uint32"}
    x = te.placeholder((4,), name="x", dtype=x_type)
    y = te.placeholder((4,), name="y", dtype=y_type)
    k = te.reduce_axis((0, 4), name="rc")
    z = te.compute((1,), lambda i: te.sum(x[k].astype(z_type) * y[k].astype(z_type), axis=[k]))

    def instruction(ins: Any, outs: Any) -> Any:
        def step(kind: str) -> Any:
            builder = tir.ir_builder.create()
            zero = tir.const(0, z_type)
            if kind == "reset":
                builder.emit(outs[0].vstore(0, zero))
                return builder.get()
            left = ins[0].vload(0, dtype=f"{x_type}x4")
            right = ins[1].vload(0, dtype=f"{y_type}x4")
            arguments = [
                call_intrin(words[x_type], "tir.reinterpret", left),
                call_intrin(words[y_type], "tir.reinterpret", right),
            ]
            before = zero if kind == "body" else outs[0].vload(0)
            value = call_pure_extern(z_type, "__dp4a", *arguments, before)
            builder.emit(outs[0].vstore(0, value))
            return builder.get()

        return step("body"), step("reset"), step("update")

    scopes = {x: x_scope, y: y_scope, z: z_scope}
    binds = {
        tensor: tir.decl_buffer(
            tensor.shape, tensor.dtype, name=name, scope=scope, data_alignment=4, offset_factor=4 if name != "z" else 1
        )
        for (tensor, scope), name in zip(scopes.items(), "xyz")
    }
    return te.decl_tensor_intrin(
        z.op, instruction, binds=binds, default_buffer_params={"data_alignment": 4, "offset_factor": 1}
    )


def _fragment(buffer: Any, size: int) -> Any:
    """Which fragment, of `size` elements each, a buffer begins with."""
    return tir.floordiv(buffer.elem_offset, size)


def _load(
    strides_dst: Any, strides_from: Any, shape: Any, layout: str, source: Any, out_shape: Any, in_dtype: str, scope: str
) -> TensorIntrin:
    m, n, k = shape
    a = te.placeholder(source, name="A", dtype=in_dtype)
    from_buffer = tir.decl_buffer(
        a.shape, a.dtype, name="from", scope="shared", strides=strides_from, data_alignment=32, offset_factor=8
    )
    c = te.compute(out_shape, lambda *i: a(*i), name="C")
    to_buffer = tir.decl_buffer(
        c.shape, c.dtype, name="to", scope=scope, strides=strides_dst, data_alignment=32, offset_factor=8
    )

    def instruction(ins: Any, outs: Any) -> Any:
        builder = tir.ir_builder.create()
        rows, columns = (m, k) if scope.endswith("a") else (n, k)
        builder.emit(
            call_intrin(
                "handle",
                "tir.tvm_load_matrix_sync",
                outs[0].data,
                m,
                n,
                k,
                _fragment(outs[0], rows * columns),
                ins[0].access_ptr("r"),
                strides_from[0],
                layout,
            )
        )
        return builder.get()

    return te.decl_tensor_intrin(c.op, instruction, binds={a: from_buffer, c: to_buffer})


def intrin_wmma_load_matrix_A(
    strides_dst: Any, strides_from: Any, shape: Any, layout: str, A_shape: Any, C_shape: Any, in_dtype: str
) -> TensorIntrin:
    """From shared memory into a fragment of the left operand."""
    return _load(strides_dst, strides_from, shape, layout, A_shape, C_shape, in_dtype, "wmma.matrix_a")


def intrin_wmma_load_matrix_W(
    strides_dst: Any, strides_from: Any, shape: Any, layout: str, A_shape: Any, C_shape: Any, in_dtype: str
) -> TensorIntrin:
    """From shared memory into a fragment of the right operand."""
    return _load(strides_dst, strides_from, shape, layout, A_shape, C_shape, in_dtype, "wmma.matrix_b")


def intrin_wmma_store_matrix(
    strides_dst: Any, strides_from: Any, shape: Any, out_dtype: str, A_shape: Any, C_shape: Any
) -> TensorIntrin:
    """From a fragment of the result into shared memory."""
    m, n, k = shape
    a = te.placeholder(A_shape, name="A", dtype=out_dtype)
    from_buffer = tir.decl_buffer(
        a.shape,
        a.dtype,
        name="from",
        scope="wmma.accumulator",
        strides=strides_from,
        data_alignment=32,
        offset_factor=8,
    )
    c = te.compute(C_shape, lambda *i: a(*i), name="C")
    to_buffer = tir.decl_buffer(
        c.shape, c.dtype, name="to", scope="shared", strides=strides_dst, data_alignment=32, offset_factor=8
    )

    def instruction(ins: Any, outs: Any) -> Any:
        builder = tir.ir_builder.create()
        builder.emit(
            call_intrin(
                "handle",
                "tir.tvm_store_matrix_sync",
                ins[0].data,
                m,
                n,
                k,
                _fragment(ins[0], m * n),
                outs[0].access_ptr("w"),
                strides_dst[0],
                "row_major",
            )
        )
        return builder.get()

    return te.decl_tensor_intrin(c.op, instruction, binds={a: from_buffer, c: to_buffer})


def intrin_wmma_gemm(
    AL_gemm: Any, WL_gemm: Any, CL_compute: Any, strides_A: Any, strides_W: Any, strides_Conv: Any, shape: Any
) -> TensorIntrin:
    """The contraction of two fragments, added to a third."""
    m, n, k = shape

    def buffer(tensor: Any, scope: str, strides: Any) -> Any:
        return tir.decl_buffer(
            tensor.shape,
            tensor.dtype,
            name=tensor.op.name,
            scope=f"wmma.{scope}",
            data_alignment=32,
            offset_factor=8,
            strides=strides,
        )

    left, right = buffer(AL_gemm, "matrix_a", strides_A), buffer(WL_gemm, "matrix_b", strides_W)
    out = buffer(CL_compute, "accumulator", strides_Conv)

    def instruction(ins: Any, outs: Any) -> Any:
        a, w = ins
        (c,) = outs

        def fill() -> Any:
            builder = tir.ir_builder.create()
            at = _fragment(c, m * n)
            builder.emit(call_intrin("handle", "tir.tvm_fill_fragment", c.data, m, n, k, at, 0.0))
            return builder.get()

        def update() -> Any:
            builder = tir.ir_builder.create()
            parts = [(c, m * n), (a, m * k), (w, k * n), (c, m * n)]
            operands = [x for fragment, size in parts for x in (fragment.data, _fragment(fragment, size))]
            builder.emit(call_intrin("handle", "tir.tvm_mma_sync", *operands))
            return builder.get()

        return update(), fill(), update()

    return te.decl_tensor_intrin(CL_compute.op, instruction, binds={AL_gemm: left, WL_gemm: right, CL_compute: out})
