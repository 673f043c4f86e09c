"""TFLite files of one operator, written through TensorFlow's own schema, and what both sides make of them."""

from __future__ import annotations

import importlib
import os
from typing import Any

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
KINDS = {
    "float32": 0, "float16": 1, "int32": 2, "uint8": 3, "int64": 4, "bool": 6, "int16": 7, "int8": 9, "float64": 10,
    "uint32": 15,
}  # fmt: skip


class Tensor:
    """A tensor of the file. `constant`: it is no input; `quant`: scale (or several, along `axis`) and zero point."""

    def __init__(
        self,
        value: Any,
        constant: bool = False,
        quant: tuple[Any, Any] | None = None,
        axis: int = 0,
        variable: bool = False,
        sparsity: Any = None,
    ) -> None:
        self.value, self.constant, self.quant, self.axis = np.asarray(value), constant, quant, axis
        self.variable, self.sparsity = variable, sparsity


def C(value: Any, dtype: str = "int32", **more: Any) -> Tensor:
    """A constant."""
    return Tensor(np.asarray(value, dtype), constant=True, **more)


class Out:
    """A result. The interpreter finds its shape by itself; of few operators it believes the file."""

    def __init__(
        self, dtype: str = "float32", quant: tuple[Any, Any] | None = None, shape: tuple[int, ...] = (1,)
    ) -> None:
        self.dtype, self.quant, self.shape = dtype, quant, shape


def schema() -> Any:
    return importlib.import_module("tensorflow.lite.python.schema_py_generated")


def _tensor(s: Any, buffers: list[Any], name: str, dtype: str, shape: Any, quant: Any, axis: int = 0) -> Any:
    tensor = s.TensorT()
    tensor.name, tensor.type, tensor.shape, tensor.buffer = name, KINDS[dtype], list(shape), 0
    tensor.hasRank = True
    if quant:
        q = s.QuantizationParametersT()
        q.scale = [float(x) for x in np.atleast_1d(quant[0])]
        q.zeroPoint = [int(x) for x in np.broadcast_to(np.atleast_1d(quant[1]), len(q.scale))]
        q.quantizedDimension = axis
        tensor.quantization = q
    return tensor


def write_subgraph(s: Any, buffers: list[Any], codes: list[Any], operators: list[tuple], name: str = "main") -> Any:
    """`operators`: (name, inputs, outputs, options, custom options); tensors are shared by identity."""
    graph = s.SubGraphT()
    graph.name, graph.tensors, graph.operators, graph.inputs, graph.outputs = name, [], [], [], []
    index: dict[int, int] = {}

    def add(one: Any) -> int:
        if one is None:
            return -1
        if id(one) in index:
            return index[id(one)]
        at = len(graph.tensors)
        if isinstance(one, Out):
            graph.tensors.append(_tensor(s, buffers, f"out{at}", one.dtype, one.shape, one.quant))
        else:
            value = one.value
            tensor = _tensor(s, buffers, f"in{at}", str(value.dtype), value.shape, one.quant, one.axis)
            tensor.isVariable = one.variable
            if one.constant:
                buffer = s.BufferT()
                buffer.data = np.frombuffer(np.ascontiguousarray(value).tobytes(), "uint8")
                tensor.buffer = len(buffers)
                buffers.append(buffer)
                if one.sparsity is not None:
                    tensor.sparsity, shape = one.sparsity
                    tensor.shape = list(shape)
            elif not one.variable:
                graph.inputs.append(at)
            graph.tensors.append(tensor)
        index[id(one)] = at
        return at

    builtin = s.BuiltinOperator
    for op, inputs, outputs, options, custom in operators:
        code = s.OperatorCodeT()
        number = getattr(builtin, op, builtin.CUSTOM)
        code.builtinCode, code.deprecatedBuiltinCode, code.version = number, min(number, 127), 1
        if number == builtin.CUSTOM:
            code.customCode = op
        node = s.OperatorT()
        node.opcodeIndex = len(codes)
        codes.append(code)
        node.inputs, node.outputs = [add(one) for one in inputs], [add(one) for one in outputs]
        if options:
            kind, fields = options
            node.builtinOptionsType = getattr(s.BuiltinOptions, kind)
            node.builtinOptions = getattr(s, kind + "T")()
            for field, value in fields.items():
                assert hasattr(node.builtinOptions, field), field
                setattr(node.builtinOptions, field, value)
        if custom is not None:
            node.customOptions = np.frombuffer(custom, "uint8")
        graph.operators.append(node)
    produced = [one for _, _, outputs, _, _ in operators for one in outputs]
    used = {id(one) for _, inputs, _, _, _ in operators for one in inputs}
    graph.outputs = [index[id(one)] for one in produced if id(one) not in used]
    return graph


def write(operators: list[tuple], *inner: list[tuple], versions: int = 0) -> bytes:
    """A file; `inner` are further subgraphs."""
    flatbuffers: Any = importlib.import_module("flatbuffers")

    s = schema()
    model = s.ModelT()
    model.version, model.buffers, model.operatorCodes = 3, [s.BufferT()], []
    model.subgraphs = [
        write_subgraph(s, model.buffers, model.operatorCodes, ops, f"graph{i}")
        for i, ops in enumerate([operators, *inner])
    ]
    for code in model.operatorCodes:
        code.version = versions or code.version
    builder = flatbuffers.Builder(1 << 12)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def oracle(content: bytes, feeds: list[np.ndarray]) -> list[np.ndarray]:
    """What TensorFlow Lite's reference answers."""
    tf = importlib.import_module("tensorflow")
    kind = tf.lite.experimental.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = tf.lite.Interpreter(model_content=content, experimental_op_resolver_type=kind)
    for info, value in zip(interpreter.get_input_details(), feeds):
        if tuple(info["shape"]) != value.shape:
            interpreter.resize_tensor_input(info["index"], value.shape)
    interpreter.allocate_tensors()
    for info, value in zip(interpreter.get_input_details(), feeds):
        interpreter.set_tensor(info["index"], value)
    interpreter.invoke()
    return [np.array(interpreter.get_tensor(info["index"])) for info in interpreter.get_output_details()]


def arrays_of(result: Any) -> list[np.ndarray]:
    """The arrays of what an executor gives."""
    if isinstance(result, (list, tuple)) or type(result).__name__ in ("ADT", "Array"):
        return [array for item in result for array in arrays_of(item)]
    return [np.asarray(result.numpy() if hasattr(result, "numpy") else result)]


def tessera_answers(mod: Any, params: Any, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    """What the compiled module answers, by the executor of dynamic programs."""
    import tessera
    from tessera import relay

    with tessera.transform.PassContext(opt_level=3):
        executor = relay.create_executor("vm", mod=mod, device=tessera.cpu(), target="llvm", params=params)
        return arrays_of(executor.evaluate()(**feeds))


def imported(content: bytes, feeds: list[np.ndarray]) -> list[np.ndarray]:
    """What Tessera answers."""
    from tessera import relay

    mod, params = relay.frontend.from_tflite(content)
    names = [str(param.name_hint) for param in mod["main"].params]
    inputs = [name for name in names if name not in params]
    return tessera_answers(mod, params, dict(zip(inputs, feeds)))
