"""Names of v0.10 that are not there, and what to do instead. A row says it of names and of everything below them."""

from __future__ import annotations

_TUNING = "kernels are scheduled by built-in rules; call relay.build without tuning and without tuning records"
_SEARCH = _TUNING + ", or schedule a program by hand with tir.Schedule"
_RPC = (
    "programs run on this machine only; write the library with export_library, copy it to the other one and load it "
    "there with tvm.runtime.load_module"
)
_MICRO = "there is no runtime for microcontrollers; export_library makes libraries for Linux on x86, ARM and RISC-V"
_AOT = 'ahead-of-time compilation needs it; use the graph executor, relay.backend.Executor("graph")'
_BYOC = (
    "external code generators are not called; leave the partitioning out, and relay.build compiles all operators itself"
)
_LIBRARY = "libraries of vendors are not called; write the operator with topi or relay, whose kernels need none"
_QUANTIZE = (
    "quantize the model before it is imported, for example with onnxruntime.quantization, and read it with "
    "relay.frontend.from_onnx"
)
_SPARSE = "operators on sparse matrices are missing; use the dense ones"
_BITS = "operators on packed bits are missing; use int8 ones"
_SCHEDULES = (
    "computes and schedules for one kind of device are missing; topi.nn has the computes, and relay.build schedules "
    "them for every target"
)
_SCRIPT = "print programs with .script() and .astext(), and build them with tvm.script.tir or tvm.tir.ir_builder"
_PASSES = "relay.build does not need it; leave the pass out"
_FFI_TESTS = "it serves v0.10's tests of its own FFI; tests of yours can register such functions with tvm.register_func"


def _onnx(how: str) -> str:
    return f"export the model to ONNX with {how} and read it with relay.frontend.from_onnx"


_TORCH, _TF, _MXNET = _onnx("torch.onnx.export"), _onnx("tf2onnx"), _onnx("mx.onnx.export_model")
_DARKNET = _onnx("a converter of Darknet weights, such as pytorch-YOLOv4's")

#: Module (v0.10's), names in it (none: the module itself), and what to do.
_ROWS: list[tuple[str, str, str]] = [
    ("tvm.autotvm", "", _TUNING),
    ("tvm.auto_scheduler", "", _SEARCH),
    ("tvm.meta_schedule", "", _SEARCH),
    ("tvm.testing", "autotvm auto_scheduler", _TUNING),
    (
        "tvm.driver.tvmc.autotuner",
        "autoscheduler_get_tuning_tasks autotvm_get_tuning_tasks drive_tune tune_tasks",
        _TUNING,
    ),
    ("tvm.rpc", "", _RPC),
    ("tvm.exec", "", _RPC),
    ("tvm.micro", "", _MICRO),
    ("tvm.testing.aot", "", _AOT),
    ("tvm.relay.backend", "aot name_transforms", _AOT),
    # importers
    ("tvm.relay.frontend", "from_pytorch pytorch pytorch_utils qnn_torch", _TORCH),
    (
        "tvm.relay.frontend",
        "from_tensorflow from_keras from_tflite tensorflow tensorflow2 tensorflow_ops tensorflow_parser keras tflite",
        _TF,
    ),
    ("tvm.relay.testing", "tf tflite", _TF),
    ("tvm.relay.frontend", "from_mxnet mxnet mxnet_qnn_op_utils nnvm_common", _MXNET),
    ("tvm.relay.frontend", "from_darknet darknet", _DARKNET),
    ("tvm.relay.testing", "darknet yolo_detection", _DARKNET),
    ("tvm.relay.frontend", "from_caffe caffe from_caffe2 caffe2", _onnx("caffe2onnx, or Caffe2's own exporter")),
    ("tvm.relay.frontend", "from_coreml coreml", _onnx("onnxmltools")),
    ("tvm.relay.frontend", "from_oneflow oneflow", _onnx("oneflow_onnx")),
    ("tvm.relay.frontend", "from_paddle paddlepaddle", _onnx("paddle2onnx")),
    (
        "tvm.driver.tvmc.frontends",
        "KerasFrontend OnnxFrontend PaddleFrontend PyTorchFrontend RelayFrontend TFLiteFrontend TensorflowFrontend",
        "get_frontend_by_name gives the format of a name, and load_model reads a file",
    ),
    (
        "tvm.relay.frontend",
        "common change_datatype ChangeDatatype",
        "from_onnx is part of the core; passes of relay.transform change what it gave",
    ),
    ("tvm.relay.frontend.onnx", "get_info", "from_onnx takes the shapes that the file gives, and `shape` others"),
    # quantisation
    ("tvm.relay.quantize", "", _QUANTIZE),
    (
        "tvm.relay.qnn.op",
        "canonicalizations legalizations requantize_config",
        "relay.qnn operators are lowered to integer arithmetic by relay.build itself",
    ),
    # external code generators, libraries, other runtimes
    (
        "tvm.relay.op.contrib",
        "arm_compute_lib bnns clml cmsisnn coreml cublas cudnn cutlass dnnl ethosn ethosu libtorch tensorrt te_target "
        "torchop vitis_ai partition_for_cutlass partition_for_tensorrt",
        _BYOC,
    ),
    ("tvm.relay.backend.contrib", "", _BYOC),
    ("tvm.relay.collage", "", _BYOC),
    ("tvm.relay.testing.byoc", "", _BYOC),
    (
        "tvm.relay.transform",
        "CollagePartition InlineCompilerFunctionsBoundTo MarkCompilerFunctionsAsExtern "
        "OutlineCompilerFunctionsWithExistingGlobalSymbols",
        _BYOC,
    ),
    ("tvm.contrib", "cutlass target", _BYOC),
    ("tvm.contrib", "cblas cublas cublaslt cudnn dnnl miopen mkl mps nnpack rocblas thrust", _LIBRARY),
    ("tvm.contrib", "random", "relay.random and topi.random have generators of random numbers"),
    ("tvm.contrib", "torch", "exchange tensors with PyTorch through tvm.nd.from_dlpack and NDArray.to_dlpack"),
    ("tvm.contrib", "mxnet tf_op", "exchange tensors with other frameworks through tvm.nd.from_dlpack, or NumPy"),
    ("tvm.contrib", "tflite_runtime coreml_runtime", "compile the model and run it with tvm.contrib.graph_executor"),
    (
        "tvm.contrib",
        "pipeline_executor pipeline_executor_build",
        "run the parts of a model one after the other with tvm.contrib.graph_executor",
    ),
    ("tvm.contrib", "relay_viz tedd", "print programs with .astext(), and schedules with tvm.lower"),
    ("tvm.contrib", "xcode spirv", "there is no code generator for Metal and Vulkan; use opencl, cuda or llvm"),
    ("tvm.runtime.profiling", "PAPIMetricCollector", "no hardware counters are read; use `perf stat`"),
    # languages
    ("tvm.script", "printer ir_builder", _SCRIPT),
    ("tvm.te.hybrid.runtime", "", "te.hybrid.script checks what it parses; call the decorated function with tensors"),
    (
        "tvm.te.schedule",
        "CreateAttachPath CreateReadGraph PostDFSOrder ScanFixPointAnalysis ScanGetBody",
        "stages of a schedule tell their attach points and inputs themselves",
    ),
    # passes, operators
    (
        "tvm.relay.transform",
        "CapturePostDfsIndexInSpans ManifestLifetimes ChangeBatch FlexibleShapeDispatch recast "
        "fake_quantization_to_integer infer_layout_utils mixed_precision",
        _PASSES,
    ),
    ("tvm.relay.op.nn", "sparse_dense", _SPARSE),
    ("tvm.relay.data_dep_optimization", "bsr_conv2d bsr_dense", _SPARSE),
    (
        "tvm.topi.sparse.utils",
        "convert_model_dense_to_sparse random_sparse_conv2d_params random_sparse_dense_params sparse_sketch_rules",
        _SPARSE,
    ),
    ("tvm.relay.op.nn", "bitpack bitserial_conv2d bitserial_dense", _BITS),
    (
        "tvm.relay.op.nn",
        "contrib_conv2d_gemm_weight_transform contrib_conv2d_gemm_without_weight_transform "
        "contrib_conv3d_winograd_weight_transform contrib_conv3d_winograd_without_weight_transform",
        "relay.nn.conv2d and conv3d choose their algorithm themselves",
    ),
    # TOPI
    ("tvm.topi", "hexagon", _SCHEDULES),
    *((f"tvm.topi.{kind}", "*", _SCHEDULES) for kind in ("cuda", "gpu", "hls", "x86")),
    *((f"tvm.topi.{kind}", "*", _SCHEDULES) for kind in ("arm_cpu", "bifrost", "intel_graphics", "mali")),
    (
        "tvm.topi.generic",
        "conv2d_alter_int8_common fallback_schedule_cpu_1x1_int8 fallback_schedule_cpu_common_int8 "
        "schedule_conv_NCHWc_cpu_1x1_int8 schedule_conv_NCHWc_cpu_common_int8",
        _TUNING,
    ),
    # the driver, tests
    (
        "tvm.driver.tvmc",
        "composite_target config_options registry workspace_pools",
        "the command line is the native program `tessera`, which has no parsers to extend",
    ),
    (
        "tvm.driver.tvmc.target",
        "generate_target_args parse_target reconstruct_target_args tokenize_target",
        "target_from_cli reads a target as the command line does",
    ),
    ("tvm.driver.tvmc.runner", "generate_tensor_data", "make_inputs_dict fills inputs that are not given"),
    ("tvm.relay.backend", "graph_executor_codegen utils", "relay.build generates code, and gives the graph with it"),
    ("tvm.relay.backend.vm", "invoke", "relay.vm.compile compiles, and runtime.vm.VirtualMachine runs"),
    ("tvm.runtime", "executor", "run a library of the graph executor with tvm.contrib.graph_executor"),
    ("tvm.utils", "", "profile a model with tvm.contrib.debugger.debug_executor"),
    (
        "tvm.testing",
        "after_initializer call_cpp_ffi call_cpp_py_ffi call_py_ffi fast_summation initializer register_ffi "
        "slow_summation timeout_job",
        _FFI_TESTS,
    ),
    ("tvm.testing.tir", "mma_schedule", "schedule the program with tir.Schedule and tvm.tir.tensor_intrin.cuda"),
    ("tvm.contrib", "popen_pool", "use concurrent.futures or multiprocessing"),
    ("tvm.relay.backend.te_compiler", "get", "relay.build compiles, and select_implementation chooses how"),
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
