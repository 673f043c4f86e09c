"""Models that v0.10 downloads; nothing is downloaded here."""

from __future__ import annotations

from typing import Any

__all__ = ["convert_to_qnn", "deserialize_relay", "load_quantized_bert_base"]

_WAY = "import the model from an ONNX file of your own with relay.frontend.from_onnx"


def convert_to_qnn(onnx_path: str, json_path: str, params_path: str, input_info: dict[str, Any]) -> None:
    """Imports an ONNX file and writes it as JSON, with its parameters beside it."""
    import onnx

    from ... import relay
    from ...ir import save_json
    from ...runtime import save_param_dict

    mod, params = relay.frontend.from_onnx(onnx.load(onnx_path), dict(input_info), freeze_params=True)
    mod = relay.transform.InferType()(mod)
    with open(json_path, "w") as out:
        out.write(save_json(mod))
    with open(params_path, "wb") as binary:
        binary.write(save_param_dict(params))


def deserialize_relay(json_path: str, params_path: str) -> tuple[Any, Any]:
    """Reads what convert_to_qnn wrote."""
    from ...ir import load_json
    from ...runtime import load_param_dict

    with open(json_path) as text:
        mod = load_json(text.read())
    with open(params_path, "rb") as binary:
        return mod, load_param_dict(binary.read())


def load_quantized_bert_base(batch_size: int = 1, seq_len: int = 384) -> Any:
    """A quantised BERT that v0.10 downloads."""
    del batch_size, seq_len
    raise NotImplementedError(f"load_quantized_bert_base would download a model: {_WAY}")
