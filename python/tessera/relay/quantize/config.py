"""What quantisation is to do: a configuration that is in force inside a with-statement."""

from __future__ import annotations

from typing import Any, ClassVar

__all__ = ["QAnnotateKind", "QConfig", "QuantizeContext", "current_qconfig", "kind2str", "qconfig", "quantize_context"]


class QAnnotateKind:
    """What a tensor is to a quantised operator."""

    IDENTITY = 0
    INPUT = 1
    WEIGHT = 2
    ACTIVATION = 3


_NAMES = {0: "identity", 1: "input", 2: "weight", 3: "activation"}


def kind2str(kind: int) -> str:
    """The name of a kind."""
    return _NAMES[kind]


class QConfig:
    """The options; those that are not given have the values below. It cannot be changed."""

    _defaults: ClassVar[dict[str, Any]] = {
        "nbit_input": 8,
        "nbit_weight": 8,
        "nbit_activation": 32,
        "dtype_input": "int8",
        "dtype_weight": "int8",
        "dtype_activation": "int32",
        "calibrate_mode": "global_scale",
        "global_scale": 8.0,
        "weight_scale": "power2",
        "skip_dense_layer": True,
        "skip_conv_layers": [0],
        "do_simulation": False,
        "round_for_shift": True,
        "debug_enabled_ops": None,
        "rounding": "UPWARD",
        "calibrate_chunk_by": -1,
        "partition_conversions": "disabled",
        # Beyond v0.10. Layers that lose most stay in `sensitive_dtype` where results over the dataset have less than `min_snr`
        # decibels (None: never), up to `sensitive_budget` of all multiplications of quantised layers.
        "skip_depthwise_layers": True,
        "min_snr": 23.0,
        "sensitive_dtype": "bfloat16",
        "sensitive_budget": 0.35,
    }
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {
        "calibrate_mode": ("global_scale", "kl_divergence", "percentile"),
        "weight_scale": ("power2", "max"),
        "rounding": ("UPWARD", "TONEAREST"),
        "partition_conversions": ("disabled", "enabled", "fully_integral"),
        "sensitive_dtype": ("bfloat16", "float32"),
    }
    _entered: ClassVar[list[QConfig]] = []

    def __init__(self, **kwargs: Any):
        for name, value in kwargs.items():
            if name not in self._defaults:
                raise ValueError(f"qconfig has no option {name}; its options are {', '.join(self._defaults)}")
            if name in self._choices and value not in self._choices[name]:
                raise ValueError(f"{name} is one of {', '.join(self._choices[name])}, not {value!r}")
        self.__dict__["_values"] = {**self._defaults, **kwargs}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._values:
            raise AttributeError(f"'QConfig' object has no attribute '{name}'")
        return self._values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"'QConfig' object cannot set attribute '{name}'")

    def __str__(self) -> str:
        return "qconfig(" + ", ".join(f"{name}=={value}" for name, value in self._values.items()) + ")"

    def __enter__(self) -> QConfig:
        self._entered.append(self)
        return self

    def __exit__(self, *_: Any) -> None:
        self._entered.pop()

    def guard(self, ref_call: Any) -> bool:
        """True when an operator may be quantised: all, or those that `debug_enabled_ops` names."""
        enabled = self.debug_enabled_ops
        return enabled is None or ref_call.op.name in enabled

    def get_nbit_by_kind(self, kind: int) -> int:
        """How many bits tensors of a kind have."""
        return self._values[f"nbit_{kind2str(kind)}"]

    def get_dtype_by_kind(self, kind: int) -> str:
        """The type of tensors of a kind."""
        return self._values[f"dtype_{kind2str(kind)}"]


_DEFAULT = QConfig()


def qconfig(**kwargs: Any) -> QConfig:
    """A configuration, for ``with relay.quantize.qconfig(...):``."""
    return QConfig(**kwargs)


def current_qconfig() -> QConfig:
    """The configuration in force."""
    return QConfig._entered[-1] if QConfig._entered else _DEFAULT


class QuantizeContext:
    """Counts the convolutions of a walk, some of which are skipped."""

    Current: ClassVar[QuantizeContext | None] = None

    def __init__(self) -> None:
        self.qnode_map: dict[Any, Any] = {}
        self._conv2d_counter = 0
        self._stop_quantize = False

    def check_to_skip(self, ref_call: Any) -> bool:
        """True when a call is not to be quantised; convolutions are counted."""
        if self._stop_quantize:
            return True
        config = current_qconfig()
        if ref_call.op.name == "nn.conv2d":
            skipped = config.skip_conv_layers
            is_skipped = skipped is not None and self._conv2d_counter in [int(layer) for layer in skipped]
            self._conv2d_counter += 1
            return is_skipped
        return bool(config.skip_dense_layer) if ref_call.op.name == "nn.dense" else False

    def stop_quantize(self) -> None:
        """Nothing after this is quantised."""
        self._stop_quantize = True

    def reset(self) -> None:
        """Counts from the beginning."""
        self._conv2d_counter = 0
        self._stop_quantize = False

    def __enter__(self) -> QuantizeContext:
        self.reset()
        self._outer, QuantizeContext.Current = QuantizeContext.Current, self
        return self

    def __exit__(self, *_: Any) -> None:
        QuantizeContext.Current = self._outer


def quantize_context() -> QuantizeContext:
    """The context of the current walk, or a new one."""
    return QuantizeContext.Current or QuantizeContext()
