"""The names of v0.10's module of test helpers."""
# ruff: noqa: F401

import os

from .compare import CompareBeforeAfter
from .helpers import fetch_model_from_url, identity_after, install_request_hook, main, terminate_self
from .numeric import (
    assert_allclose,
    assert_prim_expr_equal,
    check_bool_expr_is_true,
    check_int_constraints_trans_consistency,
    check_numerical_grads,
    get_dtype_range,
)
from .parametrize import (
    exclude_targets,
    fixture,
    known_failing_targets,
    parameter,
    parameters,
    parametrize_targets,
    skip_parameterizations,
    xfail_parameterizations,
)
from .targets import (
    DEFAULT_TEST_TARGETS,
    Feature,
    _get_targets,
    device_enabled,
    enabled_targets,
    is_ampere_or_newer,
    requires_arm_dot,
    requires_clml,
    requires_cmsisnn,
    requires_corstone300,
    requires_cublas,
    requires_cuda,
    requires_cuda_compute_version,
    requires_cudagraph,
    requires_cudnn,
    requires_cutlass,
    requires_ethosn,
    requires_ethosu,
    requires_gpu,
    requires_hexagon,
    requires_libtorch,
    requires_llvm,
    requires_metal,
    requires_micro,
    requires_nvcc_version,
    requires_nvptx,
    requires_opencl,
    requires_openmp,
    requires_package,
    requires_rocm,
    requires_rpc,
    requires_tensorcore,
    requires_vitis_ai,
    requires_vulkan,
    requires_x86,
    skip_if_32bit,
    skip_if_wheel_test,
    slow,
    uses_gpu,
)

#: True in continuous integration, which sets ``CI=true``.
SKIP_SLOW_TESTS = os.environ.get("SKIP_SLOW_TESTS", "").lower() in ("1", "true", "yes")
IS_IN_CI = os.environ.get("CI", "") == "true"
