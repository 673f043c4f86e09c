"""Models to search on. Weights are random: nothing is downloaded."""

from __future__ import annotations

from typing import Any

from ... import relay
from ...relay import testing
from ..extracted_task import ExtractedTask
from ..relay_integration import extract_task_from_relay

__all__ = ["extract_from_relay", "get_network"]


def get_network(
    name: str, input_shape: list[int], *, layout: str | None = None, cache_dir: str | None = None
) -> tuple[Any, dict[str, Any], tuple[str, list[int], str]]:
    """A model with random weights, its parameters, and (name, shape, dtype) of its input.

    There are resnet_18, resnet_50, mobilenet_v2 (as MobileNet), vgg_16, densenet_121, inception_v3, squeezenet and mlp.
    Models that v0.10 takes from PyTorch (bert_base and others) are imported from an ONNX file with relay.frontend.from_onnx.
    """
    del cache_dir
    shape = [int(extent) for extent in input_shape]
    batch, image = shape[0], tuple(shape[1:])
    with_layout: dict[str, Any] = {"image_shape": image, "batch_size": batch}
    if name.startswith("resnet_") and name.split("_")[1].isdigit():
        layers = int(name.split("_")[1])
        if layout == "NHWC" and len(image) == 3:
            with_layout["image_shape"] = (image[1], image[2], image[0]) if image[0] == 3 else image
        mod, params = testing.resnet.get_workload(num_layers=layers, layout=layout or "NCHW", **with_layout)
    elif name.startswith("mobilenet"):
        mod, params = testing.mobilenet.get_workload(batch_size=batch, image_shape=image)
    elif name.startswith("vgg_"):
        mod, params = testing.vgg.get_workload(batch, num_layers=int(name.split("_")[1]), image_shape=image)
    elif name.startswith("densenet_"):
        mod, params = testing.densenet.get_workload(densenet_size=int(name.split("_")[1]), batch_size=batch)
    elif name == "inception_v3":
        mod, params = testing.inception_v3.get_workload(batch_size=batch, image_shape=image)
    elif name.startswith("squeezenet"):
        mod, params = testing.squeezenet.get_workload(batch_size=batch, image_shape=image)
    elif name == "mlp":
        mod, params = testing.mlp.get_workload(batch, image_shape=image)
    else:
        raise ValueError(
            f"there is no model {name} here; export it to ONNX and import it with relay.frontend.from_onnx"
        )
    main = mod["main"]
    first = main.params[0]
    found = [int(extent) for extent in first.checked_type.shape]
    return mod, params, (str(first.name_hint), found, str(first.checked_type.dtype))


def extract_from_relay(
    mod: Any,
    target: Any,
    params: dict[str, Any] | None,
    name: str,
    input_shape: list[int],
    *,
    cache_dir: str | None = None,
    opt_level: int = 3,
    pass_config: dict[str, Any] | None = None,
    disabled_pass: list[str] | None = None,
) -> list[ExtractedTask]:
    """The tasks of a model; nothing is cached."""
    del name, input_shape, cache_dir
    if isinstance(mod, relay.Function):
        raise TypeError("extract_from_relay takes a module")
    return extract_task_from_relay(
        mod, target, params, opt_level=opt_level, pass_config=pass_config, disabled_pass=disabled_pass
    )
