"""The Target object and helpers that spell out common ones."""

from __future__ import annotations

import re
import warnings
from typing import Any

import tessera._ffi
from tessera.ir import Map
from tessera.runtime import Object

from . import _ffi_api


@tessera._ffi.register_object
class TargetKind(Object):
    """A kind of target ("llvm", "cuda", ...): its name, device type, default keys and options."""

    @property
    def options(self) -> dict:
        """The options this kind takes, with the type key of each value."""
        return dict(_ffi_api.ListTargetKindOptions(self).items())

    @property
    def default_device_type(self) -> int:
        return self.device_type

    @staticmethod
    def options_from_name(kind_name: str) -> dict:
        return dict(_ffi_api.ListTargetKindOptionsFromName(kind_name).items())


class TargetFeatures:
    """Facts derived from a target's options; a fact that does not apply reads as None."""

    def __init__(self, target: Target):
        self.target = target

    def __getattr__(self, name: str) -> Any:
        return _ffi_api.TargetGetFeature(self.target, name)


@tessera._ffi.register_object
class Target(Object):
    """A target from its text, its configuration, a tag, or another target, with an optional host.

    >>> Target("llvm -mcpu=skylake")
    >>> Target({"kind": "cuda", "arch": "sm_80", "host": "llvm"})
    >>> Target("nvidia/geforce-rtx-3090", host="llvm")
    """

    def __init__(self, target: Any, host: Any = None):
        if not isinstance(target, (dict, Map, str, Target)):  # a Map is what `export` gives
            raise ValueError(f"a target is a string, a dictionary or a Target, not {type(target).__name__}")
        if host is not None and not isinstance(host, (dict, str, Target)):
            raise ValueError(f"a target host is a string, a dictionary or a Target, not {type(host).__name__}")
        if host is not None:
            self.__init_handle_by_constructor__(_ffi_api.WithHost, Target(target), Target(host))
        else:
            self.__init_handle_by_constructor__(_ffi_api.Target, target)

    def __enter__(self) -> Target:
        _ffi_api.TargetEnterScope(self)
        return self

    def __exit__(self, *_: object) -> None:
        _ffi_api.TargetExitScope(self)

    def __str__(self) -> str:
        return str(_ffi_api.TargetStr(self))

    def __repr__(self) -> str:
        return str(self)

    def export(self) -> Any:
        """The configuration as a map that Target() accepts."""
        return _ffi_api.TargetExport(self)

    def with_host(self, host: Any = None) -> Target:
        return _ffi_api.WithHost(self, Target(host))

    @property
    def features(self) -> TargetFeatures:
        return TargetFeatures(self)

    def get_kind_attr(self, attr_name: str) -> Any:
        return getattr(self.kind, attr_name)

    def _int(self, name: str) -> int | None:
        return int(self.attrs[name]) if name in self.attrs else None

    @property
    def arch(self) -> str:
        return str(self.attrs.get("arch", ""))

    @property
    def max_num_threads(self) -> int:
        return int(self.attrs["max_num_threads"])

    @property
    def max_block_size_x(self) -> int:
        return int(self.attrs["max_block_size_x"])

    @property
    def max_block_size_y(self) -> int:
        return int(self.attrs["max_block_size_y"])

    @property
    def thread_warp_size(self) -> int:
        return int(self.attrs["thread_warp_size"])

    @property
    def max_shared_memory_per_block(self) -> int:
        return int(self.attrs["max_shared_memory_per_block"])

    @property
    def max_function_args(self) -> int:
        return int(self.attrs.get("max_function_args", -1))

    @property
    def device_name(self) -> str:
        return str(self.attrs.get("device", ""))

    @property
    def model(self) -> str:
        return str(self.attrs.get("model", "unknown"))

    @property
    def mcpu(self) -> str:
        return str(self.attrs.get("mcpu", ""))

    @property
    def mattr(self) -> list:
        return list(self.attrs.get("mattr", []))

    @property
    def libs(self) -> list:
        return list(self.attrs.get("libs", []))

    @property
    def supports_integer_dot_product(self) -> bool:
        if "supports_integer_dot_product" in self.attrs:
            return bool(self.attrs["supports_integer_dot_product"])
        if self.kind.name == "cuda":
            match = re.match(r"sm_(\d+)", self.arch)
            return match is not None and int(match.group(1)) >= 61
        return False

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """The target of the innermost `with target:`."""
        return _ffi_api.TargetCurrent(allow_none)

    @staticmethod
    def list_kinds() -> list:
        return list(_ffi_api.ListTargetKinds())

    @staticmethod
    def target_or_current(target: Any) -> Target:
        target = Target.current(True) if target is None else target
        if target is None:
            raise ValueError("no target is given and none is current: pass target= or use `with Target(...)`")
        return target if isinstance(target, Target) else Target(target)

    @staticmethod
    def canon_target(target: Any) -> Target | None:
        """Any form of target as a Target; None stays None."""
        return target if target is None or isinstance(target, Target) else Target(target)

    @staticmethod
    def canon_target_and_host(target: Any, target_host: Any = None) -> tuple:
        """Target and host as Targets that know of each other."""
        if target is None:
            if target_host is not None:
                raise ValueError("a target host is given without a target")
            return None, None
        target = Target.canon_target(target)
        if target_host is None:
            return target, target.host
        target_host = Target.canon_target(target_host)
        return target.with_host(target_host), target_host

    @staticmethod
    def canon_multi_target(multi_targets: Any) -> Any:
        """One target, a list, or a dictionary from device to target, as an array of Targets."""
        if multi_targets is None:
            return None
        if isinstance(multi_targets, dict) and "kind" not in multi_targets:
            multi_targets = list(multi_targets.values())
        if not isinstance(multi_targets, (list, tuple)) and not hasattr(multi_targets, "__getitem__"):
            multi_targets = [multi_targets]
        if isinstance(multi_targets, (str, dict, Target)):
            multi_targets = [multi_targets]
        return tessera.runtime.convert([Target.canon_target(t) for t in multi_targets])

    @staticmethod
    def canon_multi_target_and_host(target: Any, target_host: Any = None) -> Any:
        targets = Target.canon_multi_target(target)
        if target_host is None:
            return targets
        host = Target.canon_target(target_host)
        return tessera.runtime.convert([t.with_host(host) for t in targets])

    @staticmethod
    def canon_target_map_and_host(target_map: dict, target_host: Any = None) -> tuple:
        """The keys of {target: module} as Targets that share a host."""
        new_map = {}
        host = Target.canon_target(target_host)
        for target, module in target_map.items():
            target, host = Target.canon_target_and_host(target, host)
            new_map[target] = module
        return new_map, host

    @staticmethod
    def target_map(target_map: dict) -> dict:
        return {Target.canon_target(t): m for t, m in target_map.items()}


def _merge(options: Any) -> list:
    if not options:
        return []
    return options.split() if isinstance(options, str) else list(options)


def _spell(kind: str, *options: str) -> Target:
    return Target(" ".join([kind, *options]))


def cuda(model: str = "unknown", arch: str | None = None, options: Any = None) -> Target:
    """An NVIDIA GPU by model name and architecture."""
    extra = [f"-arch={arch}"] if arch else []
    if not any("-arch" in option for option in _merge(options) + extra):
        warnings.warn('no CUDA architecture is given; pass arch="sm_xy"', stacklevel=2)
    return _spell("cuda", f"-model={model}", *extra, *_merge(options))


def rocm(model: str = "unknown", options: Any = None) -> Target:
    """An AMD GPU."""
    return _spell("rocm", f"-model={model}", *_merge(options))


def mali(model: str = "unknown", options: Any = None) -> Target:
    """An Arm Mali GPU (Midgard)."""
    return _spell("opencl", "-device=mali", f"-model={model}", *_merge(options))


def bifrost(model: str = "unknown", options: Any = None) -> Target:
    """An Arm Mali GPU (Bifrost)."""
    return _spell("opencl", "-device=bifrost", f"-model={model}", *_merge(options))


def adreno(model: str = "unknown", options: Any = None) -> Target:
    """A Qualcomm GPU."""
    return _spell("opencl", "-device=adreno", f"-model={model}", *_merge(options))


def intel_graphics(model: str = "unknown", options: Any = None) -> Target:
    """An Intel GPU."""
    return _spell("opencl", "-device=intel_graphics", f"-model={model}", "-thread_warp_size=16", *_merge(options))


_ARM_BOARDS = {
    "pixel2": ("snapdragon835", "arm64-linux-android", "+neon"),
    "mate10": ("kirin970", "arm64-linux-android", "+neon"),
    "mate10pro": ("kirin970", "arm64-linux-android", "+neon"),
    "p20": ("kirin970", "arm64-linux-android", "+neon"),
    "p20pro": ("kirin970", "arm64-linux-android", "+neon"),
    "rasp3b": ("bcm2837", "armv7l-linux-gnueabihf", "+neon"),
    "rasp4b": ("bcm2711", "armv8l-linux-gnueabihf", "+neon"),
    "rasp4b64": ("bcm2711", "aarch64-linux-gnu", "+neon"),
    "rk3399": ("rk3399", "aarch64-linux-gnu", "+neon"),
    "pynq": ("pynq", "armv7a-linux-eabi", "+neon"),
    "ultra96": ("ultra96", "aarch64-linux-gnu", "+neon"),
    "beagleai": ("beagleai", "armv7a-linux-gnueabihf", "+neon,+vfp4,+thumb2"),
    "stm32mp1": ("stm32mp1", "armv7a-linux-gnueabihf", "+neon,+vfp4,+thumb2"),
    "thunderx": ("thunderx", "aarch64-linux-gnu", "+neon,+crc,+lse"),
}


def arm_cpu(model: str = "unknown", options: Any = None) -> Target:
    """An Arm board or telephone by its common name."""
    parts = [f"-model={model}"]
    if model in _ARM_BOARDS:
        name, triple, features = _ARM_BOARDS[model]
        parts = [f"-model={name}", f"-mtriple={triple}", f"-mattr={features}"]
    return _spell("llvm", "-keys=arm_cpu,cpu", "-device=arm_cpu", *parts, *_merge(options))


def rasp(options: Any = None) -> Target:
    """A Raspberry Pi 3; kept for old scripts."""
    warnings.warn('rasp() is deprecated; use arm_cpu("rasp3b")', DeprecationWarning, stacklevel=2)
    return arm_cpu("rasp3b", options)


_RISCV_CPUS = {
    "sifive-e31": ("riscv32-unknown-linux-gnu", "ilp32"),
    "sifive-e76": ("riscv32-unknown-linux-gnu", "ilp32"),
    "sifive-u54": ("riscv64-unknown-linux-gnu", "lp64d"),
    "sifive-u74": ("riscv64-unknown-linux-gnu", "lp64d"),
}


def riscv_cpu(model: str = "sifive-u54", options: Any = None) -> Target:
    """A RISC-V core by its LLVM name."""
    parts = [f"-model={model}"]
    if model in _RISCV_CPUS:
        triple, abi = _RISCV_CPUS[model]
        parts += [f"-mtriple={triple}", f"-mcpu={model}", f"-mabi={abi}"]
    return _spell("llvm", "-keys=arm_cpu,cpu", "-device=arm_cpu", *parts, *_merge(options))


def vta(model: str = "unknown", options: Any = None) -> Target:
    """The VTA accelerator."""
    return _spell("ext_dev", "-keys=vta,cpu", "-device=vta", f"-model={model}", *_merge(options))


_MICRO_BOARDS = {
    "host": [],
    "atsamd51": ["-mcpu=cortex-m4"],
    "cxd5602gg": ["-mcpu=cortex-m4"],
    "esp32": [],
    "imxrt10xx": ["-mcpu=cortex-m7"],
    "mps2_an521": ["-mcpu=cortex-m33"],
    "mps3_an547": ["-mcpu=cortex-m55"],
    "nrf52840": ["-mcpu=cortex-m4+nodsp"],
    "nrf5340dk": ["-mcpu=cortex-m33"],
    "rp2040": ["-mcpu=cortex-m0"],
    "sam3x8e": ["-mcpu=cortex-m3"],
    "stm32f746xx": ["-mcpu=cortex-m7", "-march=armv7e-m"],
    "stm32h7xx": ["-mcpu=cortex-m7"],
    "stm32l4r5zi": ["-mcpu=cortex-m4"],
    "stm32u5xx": ["-mcpu=cortex-m33"],
    "zynq_mp_r5": ["-mcpu=cortex-r5"],
}


def micro(model: str = "unknown", options: Any = None) -> Target:
    """A microcontroller board, compiled through C."""
    if model not in _MICRO_BOARDS:
        raise ValueError(f"no board {model!r}; the boards are {', '.join(sorted(_MICRO_BOARDS))}")
    return _spell("c", *_MICRO_BOARDS[model], f"-model={model}", *_merge(options))


_STM32_CORES = {
    "stm32H7xx": "cortex-m7",
    "stm32F7xx": "cortex-m7",
    "stm32F4xx": "cortex-m4",
    "stm32L4xx": "cortex-m4",
    "stm32L5xx": "cortex-m33",
    "stm32U5xx": "cortex-m33",
}


def stm32(series: str = "unknown", options: Any = None) -> Target:
    """An STM32 microcontroller by its series."""
    if series not in _STM32_CORES:
        raise ValueError(f"no series {series!r}; the series are {', '.join(sorted(_STM32_CORES))}")
    return _spell("c", "-keys=arm_cpu,cpu", "-device=arm_cpu", f"-mcpu={_STM32_CORES[series]}", *_merge(options))


def hexagon(cpu_ver: str = "v66", **kwargs: Any) -> Target:
    """A Hexagon DSP: hvx (0, 64, 128), use_qfloat, use_ieee_fp, llvm_options, num_cores, vtcm_capacity."""
    known = {
        "hvx": 128,
        "llvm_options": None,
        "use_qfloat": None,
        "use_ieee_fp": False,
        "num_cores": 4,
        "vtcm_capacity": 0,
    }
    unknown = set(kwargs) - set(known)
    if unknown:
        raise ValueError(f"hexagon() has no option {', '.join(sorted(unknown))}; it has {', '.join(known)}")
    config = {**known, **kwargs}
    if not re.fullmatch(r"v\d+(t)?", cpu_ver):
        raise ValueError(f"a Hexagon version is v65, v66, ..., not {cpu_ver!r}")
    if config["hvx"] not in (0, 64, 128):
        raise ValueError("hvx is 0, 64 or 128")
    version = int(re.findall(r"\d+", cpu_ver)[0])
    qfloat = version >= 68 if config["use_qfloat"] is None else bool(config["use_qfloat"])
    features = []
    llvm_options = (config["llvm_options"] or "").split()
    if config["hvx"]:
        features += [f"+hvx{cpu_ver}", f"+hvx-length{config['hvx']}b"]
    if version >= 68:
        features.append("+hvx-qfloat" if qfloat else "-hvx-qfloat")
        features.append("+hvx-ieee-fp" if config["use_ieee_fp"] else "-hvx-ieee-fp")
        llvm_options.append("-force-hvx-float")
    target: dict = {
        "kind": "hexagon",
        "mtriple": "hexagon",
        "mcpu": f"hexagon{cpu_ver}",
        "num-cores": config["num_cores"],
    }
    if features:
        target["mattr"] = features
    if llvm_options:
        target["llvm-options"] = llvm_options
    return Target(target)


def create(target: Any) -> Target:
    """Kept for old scripts; Target(target) is the same."""
    warnings.warn("create() is deprecated; use Target()", DeprecationWarning, stacklevel=2)
    return Target(target)
