"""Branches, loops, functions and lists of TensorFlow; see `framework_cases`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import Case
from ._tensorflow_model import Feeds, floats, graph_case


def _function(tf: Any, body: Callable[..., Any], *specs: Any) -> Any:
    return tf.function(body).get_concrete_function(*specs)


def _functions() -> Iterator[Case]:
    x = floats(3, 4)

    def branch(operator: str) -> Iterator[Case]:
        for value in (x, -np.abs(x)):

            def build(tf: Any, feeds: Feeds, value: np.ndarray = value) -> list[Any]:
                spec, data = tf.TensorSpec((3, 4)), feeds.tensor(value)
                made = getattr(tf.raw_ops, operator)(
                    cond=tf.reduce_max(data) > 0,
                    input=[data],
                    Tout=["float32"],
                    then_branch=_function(tf, lambda a: a * 2, spec),
                    else_branch=_function(tf, lambda a: tf.sin(a) - 1, spec),
                )
                return list(made)

            yield graph_case(operator, "taken" if value is x else "not taken", build)

    def loop(operator: str) -> Iterator[Case]:
        for fixed in (True, False):

            def build(tf: Any, feeds: Feeds, fixed: bool = fixed) -> list[Any]:
                count = tf.constant(5) if fixed else feeds.tensor(np.array(5, "int32"))
                specs = [tf.TensorSpec((), "int32"), tf.TensorSpec((), "int32"), tf.TensorSpec((3, 4))]
                made = getattr(tf.raw_ops, operator)(
                    input=[tf.constant(0), count, feeds.tensor(x)],
                    cond=_function(tf, lambda i, n, a: i < n, *specs),
                    body=_function(tf, lambda i, n, a: (i + 1, n, a * 0.5 + tf.cast(i, "float32")), *specs),
                )
                return [made[0], made[2]]

            yield graph_case(operator, "of known count" if fixed else "of a count at run time", build)

    for operator in ("If", "StatelessIf"):
        yield from branch(operator)
    for operator in ("While", "StatelessWhile"):
        yield from loop(operator)
    for operator in ("PartitionedCall", "StatefulPartitionedCall"):

        def build(tf: Any, feeds: Feeds, operator: str = operator) -> list[Any]:
            spec = tf.TensorSpec((3, 4))
            called = _function(tf, lambda a, b: (tf.matmul(a, b, transpose_b=True), a - b), spec, spec)
            data = feeds.tensor(x)
            return list(getattr(tf.raw_ops, operator)(args=[data, data * 2], Tout=["float32"] * 2, f=called))

        yield graph_case(operator, "", build)


def _lists() -> Iterator[Case]:
    x = floats(5, 2, 3)

    def from_tensor(tf: Any, feeds: Feeds) -> list[Any]:
        held = tf.raw_ops.TensorListFromTensor(tensor=feeds.tensor(x), element_shape=[2, 3])
        index = feeds.tensor(np.array(3, "int32"))
        item = tf.raw_ops.TensorListGetItem(
            input_handle=held, index=index, element_shape=[2, 3], element_dtype="float32"
        )
        return [item, tf.raw_ops.TensorListLength(input_handle=held)]

    def reserved(tf: Any, feeds: Feeds) -> list[Any]:
        held = tf.raw_ops.TensorListReserve(element_shape=[2, 3], num_elements=4, element_dtype="float32")
        data = feeds.tensor(x)
        for i in (2, 0):
            held = tf.raw_ops.TensorListSetItem(input_handle=held, index=i, item=data[i])
        return [tf.raw_ops.TensorListStack(input_handle=held, element_shape=[2, 3], element_dtype="float32")]

    def in_loop(tf: Any, feeds: Feeds) -> list[Any]:
        """What Python's `for` over a tensor becomes."""

        @tf.function(autograph=True)
        def run(data: Any) -> Any:
            count = tf.shape(data)[0]
            out = tf.TensorArray(tf.float32, size=count)
            state = tf.zeros((2, 3))
            for i in tf.range(count):
                state = state * 0.5 + data[i]
                out = out.write(i, state)
            return out.stack()

        data = feeds.tensor(x, [None, 2, 3])
        called = run.get_concrete_function(tf.TensorSpec((None, 2, 3)))
        return list(tf.raw_ops.PartitionedCall(args=[data], Tout=["float32"], f=called))

    yield graph_case("TensorListFromTensor", "", from_tensor)
    yield graph_case("TensorListGetItem", "", from_tensor)
    for operator in ("TensorListReserve", "TensorListSetItem", "TensorListStack"):
        yield graph_case(operator, "", reserved)
        yield graph_case(operator, "in a loop", in_loop)


def _arrays() -> Iterator[Case]:
    x = floats(4, 2, 3)

    def array(tf: Any, size: Any, **more: Any) -> Any:
        return tf.raw_ops.TensorArrayV3(size=size, dtype="float32", **more)

    def written(tf: Any, feeds: Feeds) -> list[Any]:
        raw, data = tf.raw_ops, feeds.tensor(x)
        handle, flow = array(tf, 3)
        for i in (1, 0, 2):
            flow = raw.TensorArrayWriteV3(handle=handle, index=i, value=data[i] * 2, flow_in=flow)
        item = raw.TensorArrayReadV3(handle=handle, index=1, flow_in=flow, dtype="float32")
        return [item, raw.TensorArraySizeV3(handle=handle, flow_in=flow)]

    def scattered(tf: Any, feeds: Feeds) -> list[Any]:
        raw, data = tf.raw_ops, feeds.tensor(x)
        handle, flow = array(tf, 4)
        flow = raw.TensorArrayScatterV3(handle=handle, indices=[3, 1, 0, 2], value=data, flow_in=flow)
        return [raw.TensorArrayGatherV3(handle=handle, indices=[0, 2, 3], flow_in=flow, dtype="float32")]

    def joined(tf: Any, feeds: Feeds) -> list[Any]:
        raw, data = tf.raw_ops, feeds.tensor(x)
        handle, flow = array(tf, 2, clear_after_read=False)
        flow = raw.TensorArraySplitV3(handle=handle, value=data, lengths=np.array([2, 2], "int64"), flow_in=flow)
        whole = raw.TensorArrayConcatV3(handle=handle, flow_in=flow, dtype="float32")
        return [whole.value, raw.TensorArraySizeV3(handle=handle, flow_in=flow)]

    def in_loop(tf: Any, feeds: Feeds) -> list[Any]:
        """A loop of TensorFlow 1, whose arrays pass through its frames."""
        v1, data = tf.compat.v1, feeds.tensor(x)
        v1.disable_control_flow_v2()
        inputs = v1.TensorArray("float32", 4).unstack(data)
        outputs = v1.TensorArray("float32", 4)

        def body(i: Any, state: Any, out: Any) -> tuple[Any, Any, Any]:
            state = state * 0.5 + inputs.read(i)
            return i + 1, state, out.write(i, state)

        made = v1.while_loop(lambda i, *_: i < 4, body, [tf.constant(0), tf.zeros((2, 3)), outputs])
        return [made[1], made[2].stack()]

    for operator in ("TensorArrayV3", "TensorArrayWriteV3", "TensorArrayReadV3", "TensorArraySizeV3"):
        yield graph_case(operator, "", written)
    for operator in ("TensorArrayScatterV3", "TensorArrayGatherV3"):
        yield graph_case(operator, "", scattered)
    for operator in ("TensorArraySplitV3", "TensorArrayConcatV3"):
        yield graph_case(operator, "", joined)
    for operator in ("TensorArrayReadV3", "TensorArrayWriteV3"):
        yield graph_case(operator, "in a loop", in_loop)


def cases() -> Iterator[Case]:
    yield from _functions()
    yield from _lists()
    yield from _arrays()
