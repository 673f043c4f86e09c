"""A compiled model that many threads may run at once, and the short way to one: `tessera.compile("model.onnx")`."""

from __future__ import annotations

import contextlib
import importlib
import os
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ._ffi.registry import get_global_func
from ._ffi.runtime_ctypes import Device
from .ir import IRModule
from .runtime import ndarray as nd
from .runtime.module import Module, load_module
from .target import Target

__all__ = ["Model", "TensorInfo", "compile"]

_CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")
_ELF, _TAR_AT, _TAR = b"\x7fELF", 257, b"ustar"


class TensorInfo(NamedTuple):
    """What is known of an input or output; an extent of -1 is one that a run decides."""

    name: str
    shape: tuple[int, ...]
    dtype: str


class Model:
    """A compiled model. `run` may be called by any number of threads at the same time, on this one object.

    `lib` is what `relay.build` or `relay.vm.compile` gave, a module, the path of an exported library or of a package, the
    bytes of one, or the path of a model file, which is compiled for this machine first. Without a device the model runs on
    the first one of the kind it was compiled for.

        model = tessera.Model("resnet.so")
        (scores,) = model(data=image)

    With `num_threads` the model has threads of its own, its caller's among them, whatever other models of the process use.
    `affinity` is the list of CPUs that they stay on, and the caller while it runs the model.

    A model can be pickled and copied: a pickle holds the bytes of its package or library, and reading it checks them as
    reading a file does. Both are machine code, so load only what you trust.
    """

    def __init__(
        self,
        lib: Any,
        device: Device | None = None,
        *,
        num_threads: int | None = None,
        affinity: Sequence[int] | None = None,
    ):
        self._built: dict[str, Any] = {}
        self._file: _OpenFile | None = None
        if isinstance(lib, (bytes, bytearray, memoryview)):
            lib = self._load_bytes(bytes(lib))
        elif isinstance(lib, (str, os.PathLike)):
            lib = self._load_file(os.fspath(lib))
        module = lib if isinstance(lib, Module) else getattr(lib, "module", None)
        if not isinstance(module, Module):
            raise TypeError(f"Model takes a compiled model, a module, a path or bytes, not {type(lib).__name__}")
        self._built.setdefault("runnable", module)
        self._start(device, num_threads, affinity)

    def _start(self, device: Device | None, num_threads: int | None, affinity: Sequence[int] | None) -> None:
        if num_threads is not None and (isinstance(num_threads, bool) or int(num_threads) < 1):
            raise ValueError(f"num_threads is a number from 1 on, not {num_threads!r}")
        self._wanted = (device, num_threads, None if affinity is None else tuple(int(cpu) for cpu in affinity))
        self.module: Module = get_global_func("runtime.Model")(
            self._built["runnable"], device, int(num_threads or 0), self._wanted[2] or ()
        )
        self._run = self.module["run"]
        self._run_into = self.module["run_into"]
        self._index = self.module["input_index"]
        self._inputs = _infos(self.module["inputs"]())
        self._outputs = _infos(self.module["outputs"]())

    def _load_file(self, path: str) -> Module:
        if _is_model_file(path):
            self._built = _compile(path)
            return self._built["runnable"]
        if path.endswith((".so", ".tar")):
            self._file = _OpenFile(path)
        return get_global_func("runtime.LoadPackage")(path) if path.endswith(".tar") else load_module(path)

    def _load_bytes(self, data: bytes) -> Module:
        suffix = _suffix_of(data)
        if not suffix:
            raise ValueError(
                "these are not the bytes of a compiled model (a library or a package); tessera.compile takes those of "
                "an ONNX model"
            )
        with tempfile.TemporaryDirectory(prefix="tessera-") as folder:
            path = os.path.join(folder, "model" + suffix)
            with open(path, "wb") as file:
                file.write(data)
            return self._load_file(path)

    @property
    def inputs(self) -> list[TensorInfo]:
        """What `run` takes, in order; parameters of the model are not among them."""
        return list(self._inputs)

    @property
    def outputs(self) -> list[TensorInfo]:
        """What `run` gives, in order, under the names of the model file ("output_0", ... where it has none).

        Empty where results are no plain list of tensors.
        """
        return list(self._outputs)

    @property
    def device(self) -> Device:
        """Where the model runs."""
        return self.module["device"]()

    @property
    def num_threads(self) -> int | None:
        """How many threads of its own the model has; None where it uses those of the process."""
        return self.module["num_threads"]() or None

    @property
    def affinity(self) -> tuple[int, ...] | None:
        """The CPUs that its threads stay on; None where the system decides."""
        return self._wanted[2]

    def run(
        self,
        *args: Any,
        outputs: Sequence[str] | None = None,
        out: Any = None,
        casting: str = "no",
        **kwargs: Any,
    ) -> list[Any]:
        """Runs the model and returns its outputs, which belong to the caller.

        Inputs are given in order, by keyword, or as one dict by name (the only way for one called `outputs`, `out` or
        `casting`). They are tensors or what NumPy makes arrays of; a list or a number takes the element type of its input.
        An array must have it, or is converted where `casting` allows that, as in `numpy.can_cast`: "same_kind" takes
        float64 for float32.

        `outputs` names those that are returned, in that order. `out` gives memory for them: a list of as many NumPy arrays
        or tensors (None: a new one), or a dict by name. Those are returned for their outputs.
        """
        values = self._values(args, kwargs, casting)
        chosen = self._chosen(outputs)
        if out is None:
            results = list(self._run(*values))
            return results if chosen is None else [results[i] for i in chosen]
        buffers = self._buffers(out, chosen)
        tensors = [buffers[i].tensor if i in buffers else None for i in range(max(buffers, default=-1) + 1)]
        results = list(self._run_into(values, tensors))
        for i, buffer in buffers.items():
            results[i] = buffer.filled(results[i])
        return results if chosen is None else [results[i] for i in chosen]

    __call__ = run

    def save(self, path: str | os.PathLike) -> None:
        """Writes the compiled model as a library (.so) or, where `tessera.compile` made it, a package (.tar).

        `Model(path)` reads both, on a machine that has the runtime alone too. A model of a file is written as it was read.
        """
        path = os.fspath(path)
        if not path.endswith((".so", ".tar")):
            raise ValueError(f"a compiled model is written as a library (.so) or a package (.tar), not as {path}")
        if self._file and self._file.suffix == os.path.splitext(path)[1]:
            data = self._file.read()
            with open(path, "wb") as file:
                file.write(data)
        elif "variants" in self._built:
            if path.endswith(".so"):
                raise ValueError(f"a model for several CPUs is written as a package (.tar), not as {path}")
            get_global_func("driver.export_portable_package")(self._built["variants"], self._built["targets"], path)
        elif path.endswith(".so"):
            get_global_func("driver.export_library")(self._built["runnable"], path, "", [])
        elif "executor" in self._built:
            get_global_func("driver.export_package")(self._built, path, "", [])
        else:
            raise ValueError(
                "a package (.tar) is written of what tessera.compile made; write this model as a library (.so)"
            )

    def to_bytes(self) -> bytes:
        """The package or library that `Model(data)` reads: what `save` writes."""
        if self._file:
            return self._file.read()
        with tempfile.TemporaryDirectory(prefix="tessera-") as folder:
            path = os.path.join(folder, "model.tar" if "executor" in self._built else "model.so")
            self.save(path)
            with open(path, "rb") as file:
                return file.read()

    def __reduce__(self) -> tuple[Any, ...]:
        device, num_threads, affinity = self._wanted
        device_numbers = None if device is None else (int(device.device_type), int(device.device_id))
        return (_from_bytes, (self.to_bytes(), device_numbers, num_threads, affinity))

    def __copy__(self) -> Model:
        """Another model with executors and threads of its own around the same code and weights, which do not change."""
        out = Model.__new__(Model)
        out._built, out._file = self._built, self._file
        out._start(*self._wanted)
        return out

    def __deepcopy__(self, memo: dict[int, Any]) -> Model:
        return self.__copy__()

    def _values(self, args: tuple[Any, ...], kwargs: dict[str, Any], casting: str) -> list[Any]:
        """The inputs in order."""
        if casting not in _CASTINGS:
            raise ValueError(f"casting is one of {', '.join(_CASTINGS)}, not {casting!r}")
        named = list(kwargs.items())
        if len(args) == 1 and isinstance(args[0], Mapping):
            named += args[0].items()
            args = ()
        if len(args) > len(self._inputs):
            raise ValueError(f"the model takes {len(self._inputs)} inputs, got {len(args)}")
        values: list[Any] = [None] * len(self._inputs)
        for i, value in enumerate(args):
            values[i] = self._tensor(i, value, casting)
        for name, value in named:
            i = self._index(name)
            if values[i] is not None:
                raise ValueError(f'input "{name}" is given twice')
            values[i] = self._tensor(i, value, casting)
        return values

    def _tensor(self, index: int, value: Any, casting: str) -> nd.NDArray:
        name, _, dtype = self._inputs[index]
        if value is None:
            raise ValueError(f'input "{name}" is None')
        if isinstance(value, nd.NDArray) and (casting == "no" or value.dtype == dtype):
            return value
        wanted = nd._numpy_dtype(dtype)
        array = np.asarray(value) if hasattr(value, "__array__") else np.asarray(value, wanted)
        native = array.dtype.newbyteorder("=")
        if native != wanted:
            castings = [c for c in _CASTINGS[1:] if np.can_cast(native, wanted, c)]  # type: ignore[arg-type]
            if casting not in castings:
                cure = f', or call run(..., casting="{castings[0]}")' if castings else ""
                raise ValueError(
                    f'input "{name}" is {_text(self._inputs[index])}, but the array given is {array.shape} {native}; '
                    f'convert it with .astype("{dtype}"){cure}'
                )
            array = array.astype(wanted)
        return nd.empty(array.shape, dtype).copyfrom(array)

    def _chosen(self, names: Sequence[str] | None) -> list[int] | None:
        """The indices of outputs."""
        if names is None:
            return None
        if isinstance(names, str) or not all(isinstance(name, str) for name in names):
            raise TypeError(
                f"outputs is a list of names of outputs, not {names!r}; an input of that name is given in a dict"
            )
        known = [info.name for info in self._outputs]
        for name in names:
            if name not in known:
                raise ValueError(f'the model has no output "{name}"; its outputs are {", ".join(known)}')
        return [known.index(name) for name in names]

    def _buffers(self, out: Any, chosen: list[int] | None) -> dict[int, _Buffer]:
        """What is given for outputs, by their indices."""
        count = len(self._outputs)
        if isinstance(out, Mapping):
            indices = self._chosen(list(out)) or []
            given = list(out.values())
        else:
            indices = list(range(count)) if chosen is None else chosen
            given = list(out) if isinstance(out, (list, tuple)) else [out]
            if len(given) != len(indices):
                raise ValueError(f"out gives {len(given)} arrays for {len(indices)} outputs")
        if len(set(indices)) != len(indices):
            raise ValueError("out gives an output twice")
        return {
            index: _Buffer(self._outputs[index], value) for index, value in zip(indices, given) if value is not None
        }

    def __repr__(self) -> str:
        takes = ", ".join(f"{x.name}: {x.dtype}{list(x.shape)}" for x in self._inputs)
        gives = ", ".join(f"{x.name}: {x.dtype}{list(x.shape)}" for x in self._outputs) or "..."
        return f"Model({takes}) -> ({gives}) on {self.device}"


class _Buffer:
    """Memory that a caller gives for an output: a tensor, or a NumPy array that is shared where the runtime can."""

    def __init__(self, info: TensorInfo, given: Any):
        if not isinstance(given, (nd.NDArray, np.ndarray)):
            raise TypeError(f'out: output "{info.name}" goes to a NumPy array or a tensor, not {type(given).__name__}')
        self.info, self.given = info, given
        self.tensor: nd.NDArray | None = None
        if isinstance(given, nd.NDArray):
            self.tensor = given
            return
        if not given.flags.writeable:
            raise ValueError(f'out: the array for output "{info.name}" is read-only')
        self._check(info.shape, info.dtype)
        if given.flags.c_contiguous and given.dtype.isnative:
            # A type or an address that cannot be shared: the result is copied.
            with contextlib.suppress(BufferError, ValueError, TypeError, RuntimeError):
                self.tensor = nd.from_dlpack(given)

    def _check(self, shape: Sequence[int], dtype: str) -> None:
        fits = len(shape) == self.given.ndim and all(a in (-1, b) for a, b in zip(shape, self.given.shape))
        if not fits or self.given.dtype != nd._numpy_dtype(dtype):
            raise ValueError(
                f'output "{self.info.name}" is {_text(TensorInfo(self.info.name, tuple(shape), dtype))}, '
                f"but the array given for it is {self.given.shape} {self.given.dtype}"
            )

    def filled(self, result: nd.NDArray) -> Any:
        if self.tensor is None:
            self._check(result.shape, result.dtype)
            self.given[...] = np.asarray(result)
        return self.given


class _OpenFile:
    """A file that a model was loaded from: what it held is still there when its name is gone or means another."""

    def __init__(self, path: str):
        self.path, self.suffix = path, os.path.splitext(path)[1]
        self.handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self.handle)
        self.state = self._state()

    def _state(self) -> tuple[int, int]:
        status = os.fstat(self.handle)
        return status.st_size, status.st_mtime_ns

    def read(self) -> bytes:
        parts, at = [], 0
        while part := os.pread(self.handle, 1 << 24, at):
            parts.append(part)
            at += len(part)
        if self._state() != self.state:
            raise RuntimeError(f"{self.path} was changed after the model was loaded from it; load it again")
        return b"".join(parts)


def compile(
    model: Any,
    target: Any = "llvm",
    shapes: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    opt_level: int = 3,
    device: Device | None = None,
    *,
    num_threads: int | None = None,
    affinity: Sequence[int] | None = None,
    cpu: str | Sequence[str] = (),
    allow_links: str | os.PathLike | None = None,
    precision: str = "fp32",
) -> Model:
    """Compiles a model file, a Relay module (with its `params`), an ONNX `ModelProto` or its bytes, ready to run:

        model = tessera.compile("resnet50.onnx")
        (scores,) = model(image)
        model.save("resnet50.tar")

    `shapes` gives inputs their shapes by name, where the file leaves them open or others are wanted. `target` is a Target
    or a text as `tessera compile --target` takes it; "llvm" is this machine's CPU. `device`, `num_threads` and
    `affinity` are those of `Model`. Data beside an ONNX file may lie behind symbolic links that lead into the folder
    `allow_links`, such as a Hugging Face cache. `precision` "fp16" or "bf16" narrows weights, and arithmetic where the target
    has some, as `tessera compile --precision` does; inputs and outputs keep their types.

    `cpu` names the CPU that code is made for ("x86-64-v3", "znver4", "native"). Several of them make a portable model, of which
    the best that this machine runs is used here, and which `save` writes into one package:

        tessera.compile("net.onnx", cpu=["x86-64-v2", "x86-64-v3", "x86-64-v4"]).save("net.tar")
    """
    out = Model.__new__(Model)
    out._file = None
    out._built = _compile(model, target, shapes, params, opt_level, cpu, allow_links, precision)
    out._start(device, num_threads, affinity)
    return out


def _compile(
    model: Any,
    target: Any = "llvm",
    shapes: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    opt_level: int = 3,
    cpu: str | Sequence[str] = (),
    allow_links: str | os.PathLike | None = None,
    precision: str = "fp32",
) -> dict[str, Any]:
    """What the compiler gives: what runs, and what a package is made of."""
    if isinstance(model, (str, os.PathLike)):
        wanted = {str(name): list(shape) for name, shape in (shapes or {}).items()}
        links = os.fspath(allow_links or "")
        mod, values, _ = get_global_func("frontend.load_model")(os.fspath(model), "", wanted, links)
        shapes = None
    elif isinstance(model, IRModule):
        mod, values = model, {}
    elif isinstance(model, (bytes, bytearray, memoryview)) or hasattr(model, "SerializeToString"):
        if isinstance(model, (bytearray, memoryview)):
            model = bytes(model)
        if isinstance(model, bytes) and _suffix_of(model):
            raise ValueError("these are the bytes of a model that is compiled already; tessera.Model(data) loads them")
        mod, values = importlib.import_module("tessera.relay.frontend").from_onnx(model, shape=dict(shapes or {}))
        shapes = None
    else:
        raise TypeError(f"compile takes the path of a model, a module or an ONNX model, not {type(model).__name__}")
    if shapes:
        raise ValueError("shapes are for models of files: the inputs of a module have theirs")
    if isinstance(target, str):
        target = get_global_func("driver.target_from_text")(target, {})
    tensors = {**dict(values.items()), **{name: _as_tensor(value) for name, value in (params or {}).items()}}
    names = cpu.split(",") if isinstance(cpu, str) else cpu
    with_cpu = get_global_func("driver.target_with_cpu")
    targets = [with_cpu(Target(target), name.strip()) for name in names if name] or [Target(target)]
    compile_model = get_global_func("driver.compile_model")
    options = {"opt_level": opt_level, "precision": precision}
    variants = [dict(compile_model(mod, tensors, {"target": each, **options}).items()) for each in targets]
    if len(targets) == 1:
        return variants[0]
    best = variants[get_global_func("driver.best_target")(targets)]
    return {**best, "variants": variants, "targets": targets}


def _from_bytes(
    data: bytes, device_numbers: tuple[int, int] | None, num_threads: int | None, affinity: Sequence[int] | None
) -> Model:
    """A model from what a pickle holds."""
    device = None if device_numbers is None else Device(*device_numbers)
    return Model(bytes(data), device, num_threads=num_threads, affinity=affinity)


def _is_model_file(path: str) -> bool:
    """True where the name is that of a model, which is not compiled yet. A runtime without the compiler knows none."""
    formats = get_global_func("frontend.model_formats", allow_missing=True)
    return any(path.endswith(f".{suffix}") for _, suffixes in (formats() if formats else ()) for suffix in suffixes)


def _suffix_of(data: bytes) -> str:
    """Of a file with these bytes: a library or a package; empty for anything else."""
    if data.startswith(_ELF):
        return ".so"
    return ".tar" if data[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR else ""


def _as_tensor(value: Any) -> nd.NDArray:
    return value if isinstance(value, nd.NDArray) else nd.array(np.asarray(value))


def _infos(rows: Any) -> list[TensorInfo]:
    return [TensorInfo(str(name), tuple(int(x) for x in shape), str(dtype)) for name, shape, dtype in rows]


def _text(info: TensorInfo) -> str:
    """As the runtime writes it: "(2, ?) float32"."""
    extents = ", ".join("?" if extent < 0 else str(extent) for extent in info.shape)
    return f"({extents}{',' if len(info.shape) == 1 else ''}) {info.dtype}"
