"""Reading models. The formats and the importers of ONNX and Relay text are the core's (src/frontend/load_model.h)."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
from collections.abc import Mapping
from typing import Any

from ... import relay
from ..._ffi.registry import get_global_func
from ...ir import IRModule
from .exceptions import TVMCException, TVMCImportError, from_core
from .model import TVMCModel

__all__ = [
    "ALL_FRONTENDS",
    "Caffe2Frontend",
    "CaffeFrontend",
    "CoreMLFrontend",
    "DarknetFrontend",
    "Frontend",
    "KerasFrontend",
    "MXNetFrontend",
    "OnnxFrontend",
    "PaddleFrontend",
    "PyTorchFrontend",
    "RelayFrontend",
    "TFLiteFrontend",
    "TensorflowFrontend",
    "get_frontend_by_name",
    "get_frontend_names",
    "guess_frontend",
    "lazy_import",
    "load_model",
]


def lazy_import(pkg_name: str, from_pkg_name: str | None = None, hide_stderr: bool = False) -> Any:
    """A package that a format needs; a TVMCImportError that names it where it is not installed."""
    try:
        with contextlib.redirect_stderr(io.StringIO()) if hide_stderr else contextlib.nullcontext():
            return importlib.import_module(pkg_name, package=from_pkg_name)
    except ImportError as error:
        raise TVMCImportError(pkg_name) from error


class Frontend:
    """One format of model files."""

    #: As `--model-format` spells it.
    format = ""

    @classmethod
    def name(cls) -> str:
        """As `--model-format` spells it."""
        return cls.format

    @classmethod
    def suffixes(cls) -> list[str]:
        """Endings of its files, without the dot."""
        return list(_SUFFIXES[cls.format])

    def load(
        self, path: str | os.PathLike, shape_dict: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> tuple[IRModule, dict[str, Any]]:
        """A module and its parameters. A format that cannot be read yet is a TVMCImportError that says what to do."""
        if kwargs and self.format == "onnx":  # options of the importer itself
            with from_core():
                return relay.frontend.from_onnx(os.fspath(path), shape=dict(shape_dict or {}), **kwargs)
        if kwargs:
            raise TVMCException(f"the importer of {self.format} models has no option {', '.join(sorted(kwargs))}")
        return _load(path, self.format, shape_dict)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def _load(
    path: str | os.PathLike, model_format: str, shape_dict: Mapping[str, Any] | None
) -> tuple[IRModule, dict[str, Any]]:
    """By the core's importers; an empty format is that of the file."""
    shapes = {str(name): list(shape) for name, shape in (shape_dict or {}).items()}
    with from_core():
        mod, params, _ = get_global_func("frontend.load_model")(os.fspath(path), model_format, shapes, "")
    return mod, dict(params.items())


#: Endings of each format's files.
_SUFFIXES = {
    str(name): [str(suffix) for suffix in suffixes] for name, suffixes in get_global_func("frontend.model_formats")()
}


class KerasFrontend(Frontend):
    """Models of Keras."""

    format = "keras"

    def is_sequential_p(self, model: Any) -> bool:
        """True when a model of Keras is a chain of layers."""
        return isinstance(model, lazy_import("tensorflow.keras").models.Sequential)

    def sequential_to_functional(self, model: Any) -> Any:
        """The same layers as a model of Keras's functional kind."""
        keras = lazy_import("tensorflow.keras")
        if not self.is_sequential_p(model):
            raise TVMCException("only a sequential model can be made a functional one")
        first = keras.layers.Input(batch_shape=model.layers[0].input_shape)
        out = first
        for layer in model.layers:
            out = layer(out)
        return keras.models.Model([first], [out])


class OnnxFrontend(Frontend):
    """Models in ONNX."""

    format = "onnx"


class TensorflowFrontend(Frontend):
    """Graphs of TensorFlow."""

    format = "pb"


class TFLiteFrontend(Frontend):
    """Models of TensorFlow Lite."""

    format = "tflite"


class PyTorchFrontend(Frontend):
    """Programs of PyTorch: of torch.export as the core reads them, of TorchScript through PyTorch."""

    format = "pytorch"

    def load(
        self, path: str | os.PathLike, shape_dict: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> tuple[IRModule, dict[str, Any]]:
        """A module and its parameters; a program of TorchScript does not know the shapes of its inputs."""
        with from_core():
            if not kwargs and get_global_func("frontend.torch.is_exported")(os.fspath(path)):
                return _load(path, self.format, shape_dict)
        if not shape_dict:
            raise TVMCException("--input-shapes must be specified for programs of TorchScript")
        torch = lazy_import("torch")
        module = torch.jit.load(os.fspath(path), map_location="cpu").eval()
        infos = [(name, (list(shape), "float32")) for name, shape in shape_dict.items()]
        with from_core():
            return relay.frontend.from_pytorch(module, infos, **kwargs)


class PaddleFrontend(Frontend):
    """Models of PaddlePaddle."""

    format = "paddle"


class MXNetFrontend(Frontend):
    """Models of MXNet, which v0.10's tvmc has not."""

    format = "mxnet"


class CaffeFrontend(Frontend):
    """Networks of Caffe, which v0.10's tvmc has not."""

    format = "caffe"


class Caffe2Frontend(Frontend):
    """Networks of Caffe2, which v0.10's tvmc has not."""

    format = "caffe2"


class CoreMLFrontend(Frontend):
    """Neural networks of CoreML, which v0.10's tvmc has not."""

    format = "coreml"


class DarknetFrontend(Frontend):
    """Networks of Darknet, which v0.10's tvmc has not."""

    format = "darknet"


class RelayFrontend(Frontend):
    """Relay text."""

    format = "relay"


_CLASSES = {kind.format: kind for kind in Frontend.__subclasses__()}

#: The formats of tvmc; the core knows which of them can be read.
ALL_FRONTENDS = [_CLASSES[name]() for name in _SUFFIXES]


def get_frontend_names() -> list[str]:
    """Names of all formats."""
    return [frontend.name() for frontend in ALL_FRONTENDS]


def get_frontend_by_name(name: str) -> Frontend:
    """The format of that name."""
    for frontend in ALL_FRONTENDS:
        if frontend.name() == name:
            return frontend
    raise TVMCException(f"there is no model format {name!r}; the formats are {', '.join(get_frontend_names())}")


def guess_frontend(path: str | os.PathLike) -> Frontend:
    """The format that the name of a file tells."""
    with from_core():
        return get_frontend_by_name(str(get_global_func("frontend.guess_model_format")(os.fspath(path))))


def load_model(
    path: str | os.PathLike,
    model_format: str | None = None,
    shape_dict: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> TVMCModel:
    """Reads a model. The format is that of the file's name unless given; `shape_dict` gives inputs their shapes.

    What else is given goes to the importer (for ONNX: `freeze_params`, `opset`, `dtype`). What `TVMCModel.save` wrote is
    a model too.
    """
    guessed = ""
    if model_format is None and os.path.exists(path):  # that a file is missing is said by what reads it
        with from_core():
            guessed = str(get_global_func("frontend.guess_model_format")(os.fspath(path)))
    if model_format is None and not kwargs and guessed != PyTorchFrontend.format:
        return TVMCModel(*_load(path, "", shape_dict))
    frontend = get_frontend_by_name(model_format) if model_format is not None else guess_frontend(path)
    return TVMCModel(*frontend.load(path, shape_dict, **kwargs))
