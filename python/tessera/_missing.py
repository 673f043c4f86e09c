"""Names of v0.10 that are not there, and what to do instead. A row says it of names and of everything below them."""

from __future__ import annotations

_TUNING = "kernels are scheduled by built-in rules; tune a model with `tessera tune` or tvmc.tune, whose records relay.build takes"
_RPC = (
    "programs run on this machine only; write the library with export_library, copy it to the other one and load it "
    "there with tvm.runtime.load_module"
)
_MICRO = "there is no runtime for microcontrollers; export_library makes libraries for Linux on x86, ARM and RISC-V"
_AOT = 'ahead-of-time compilation needs it; use the graph executor, relay.backend.Executor("graph")'
_BYOC = "its code generator is not there; leave the partitioning out, and relay.build compiles all operators itself"
_SCHEDULES = (
    "computes and schedules for one kind of device are missing; topi.nn has the computes, and relay.build schedules "
    "them for every target"
)


def _onnx(how: str) -> str:
    return f"export the model to ONNX with {how} and read it with relay.frontend.from_onnx"


_TORCH = "relay.frontend.from_pytorch rewrites and reads quantised modules itself"
_TF, _MXNET = _onnx("tf2onnx"), _onnx("mx.onnx.export_model")

#: Module (v0.10's), names in it (none: the module itself), and what to do.
_ROWS: list[tuple[str, str, str]] = [
    ("tvm.rpc.server_ios_launcher", "ServerIOSContextManager", "start `tessera rpc-server` on a machine with Linux"),
    (
        "tvm.autotvm.graph_tuner",
        "utils",
        "walks over graphs are inside of autotvm.graph_tuner; relay.analysis has post_order_visit",
    ),
    ("tvm.exec", "measure_peak microtvm_debug_shell autotvm_log_editor", "this program is not there"),
    ("tvm.contrib.xcode", "popen_test_rpc", _RPC),
    ("tvm.micro", "", _MICRO),
    ("tvm.testing.aot", "", _AOT),
    # importers
    ("tvm.relay.frontend", "pytorch_utils qnn_torch", _TORCH),
    (
        "tvm.relay.frontend",
        "tensorflow_ops",
        _TF,
    ),
    ("tvm.relay.testing", "tflite", _TF),
    ("tvm.relay.frontend", "mxnet_qnn_op_utils nnvm_common", _MXNET),
    ("tvm.relay.frontend", "from_oneflow oneflow", _onnx("oneflow_onnx")),
    # external code generators, libraries, other runtimes
    (
        "tvm.relay.op.contrib",
        "arm_compute_lib bnns clml coreml vitis_ai",
        _BYOC,
    ),
    ("tvm.relay.backend.contrib", "ethosu", _BYOC),
    ("tvm.contrib", "cutlass target", _BYOC),
    ("tvm.contrib", "tflite_runtime coreml_runtime", "compile the model and run it with tvm.contrib.graph_executor"),
    ("tvm.runtime.profiling", "PAPIMetricCollector", "no hardware counters are read; use `perf stat`"),
    # languages
    # passes, operators
    # TOPI
    ("tvm.topi", "hexagon", _SCHEDULES),
    *((f"tvm.topi.{kind}", "*", _SCHEDULES) for kind in ("cuda", "gpu", "hls", "x86")),
    *((f"tvm.topi.{kind}", "*", _SCHEDULES) for kind in ("arm_cpu", "bifrost", "intel_graphics", "mali")),
    (
        "tvm.topi.generic",
        "conv2d_alter_int8_common schedule_conv_NCHWc_cpu_1x1_int8 schedule_conv_NCHWc_cpu_common_int8",
        _TUNING,
    ),
    # the driver, tests
    ("tvm.relay.backend.vm", "invoke", "relay.vm.compile compiles, and runtime.vm.VirtualMachine runs"),
    ("tvm.testing", "create_workload", "use relay.testing.create_workload"),
]

#: What is said of a name; "*" stands for every name of a module that it lacks.
MISSING: dict[str, str] = {
    f"{module}.{name}" if name else module: way for module, names, way in _ROWS for name in names.split() or [""]
}


def explanation(name: str) -> str | None:
    """One sentence about a name that is missing, or below one that is; None where nothing is known of it."""
    row = name
    while row:
        parent, _, _ = row.rpartition(".")
        way = MISSING.get(row) or MISSING.get(f"{parent}.*")
        if way:
            return f"{name} is not there yet: {way}"
        row = parent
    return None


def has_missing_names(prefix: str) -> bool:
    """True when some row begins with `prefix`."""
    return any(row.startswith(prefix) for row in MISSING)
