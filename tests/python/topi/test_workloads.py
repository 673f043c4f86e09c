"""Workloads of convolutions, and the tiles that are chosen for them without a log."""

import pytest
from tessera import autotvm, te
from tessera.autotvm.task.space import FallbackConfigEntity
from tessera.target import Target
from tessera.topi.generic.conv2d import fallback_schedule_cpu_1x1_int8, fallback_schedule_cpu_common_int8
from tessera.topi.nn import conv2d
from tessera.topi.nn.conv2d import _get_workload as workload_of
from tessera.topi.nn.depthwise_conv2d import _get_workload as depthwise_workload_of
from tessera.topi.x86 import conv2d_avx_1x1, conv2d_avx_common
from tessera.topi.x86.depthwise_conv2d import _fallback_schedule as depthwise_tiles

AVX512 = "llvm -mcpu=skylake-avx512"


def tiles(choose, workload, target=AVX512, **more):
    cfg = FallbackConfigEntity()
    with Target(target):
        choose(cfg, workload, **more)
    names = [name for name in ("tile_ic", "tile_oc", "tile_oh", "tile_ow") if name in cfg._entity_map]
    return {name: getattr(cfg[name], "size", None) or cfg[name].val for name in names}


def test_a_submodule_and_a_function_share_a_name():
    assert callable(conv2d)


def test_a_convolution_in_numbers():
    data, kernel = te.placeholder((1, 64, 56, 28)), te.placeholder((32, 16, 3, 5))
    workload = workload_of(data, kernel, (2, 1), "SAME", (1, 2), "float32")
    assert workload[:7] == ("float32", "float32", 56, 28, 64, 4, 32)
    assert workload[7:] == (3, 5, 1, 4, 1, 4, 1, 2, 2, 1)


def test_channels_last_have_kernels_of_their_own():
    data, kernel = te.placeholder((1, 56, 28, 64), "uint8"), te.placeholder((3, 5, 64, 32), "int8")
    workload = workload_of(data, kernel, 1, 0, 1, "int32", "NHWC")
    assert (workload.height, workload.width, workload.in_filter, workload.out_filter) == (56, 28, 64, 32)
    assert (workload.kernel_h, workload.kernel_w, workload.groups) == (3, 5, 1)


def test_a_depthwise_convolution_in_numbers():
    data, kernel = te.placeholder((1, 32, 56, 56)), te.placeholder((32, 2, 3, 3))
    workload = depthwise_workload_of(data, kernel, 2, (0, 0, 1, 1), 1, "float32")
    assert workload == ("float32", "float32", 56, 56, 32, 32, 64, 3, 3, 0, 0, 1, 1, 1, 1, 2, 2)


def test_factors_of_two_types_are_rejected():
    with pytest.raises(TypeError, match="data is float16 and the kernel float32"):
        workload_of(te.placeholder((1, 8, 8, 8), "float16"), te.placeholder((8, 8, 3, 3)), 1, 1, 1, "float32")


@pytest.mark.parametrize(
    "stride, padding, dilation, width", [(1, 1, 1, 56), (2, (0, 0, 1, 1), 1, 28), (1, "VALID", 2, 52)]
)
def test_tiles_of_rows_divide_the_width_of_the_result(stride, padding, dilation, width):
    data, kernel = te.placeholder((1, 3, 56, 56)), te.placeholder((64, 3, 3, 3))
    got = tiles(conv2d_avx_common._fallback_schedule, workload_of(data, kernel, stride, padding, dilation, "float32"))
    assert got["tile_ic"] == [1, 3] and got["tile_oc"] == [4, 16]
    outer, inner = got["tile_ow"]
    assert outer * inner == width and inner <= 31


def test_tiles_of_points_are_rectangles():
    data, kernel = te.placeholder((1, 64, 14, 14)), te.placeholder((48, 64, 1, 1))
    got = tiles(
        conv2d_avx_1x1._fallback_schedule, workload_of(data, kernel, 1, 0, 1, "float32"), "llvm -mcpu=core-avx2"
    )
    assert got == {"tile_ic": [8, 8], "tile_oc": [6, 8], "tile_oh": 2, "tile_ow": [1, 14]}


def test_tiles_of_depthwise_convolutions():
    data, kernel = te.placeholder((1, 24, 56, 56)), te.placeholder((24, 1, 3, 3))
    got = tiles(depthwise_tiles, depthwise_workload_of(data, kernel, 1, 1, 1, "float32"))
    assert got == {"tile_ic": [2, 12], "tile_oc": [2, 12], "tile_ow": [2, 28]}


def test_tiles_of_int8_take_channels_by_fours():
    data, kernel = te.placeholder((1, 12, 14, 14), "uint8"), te.placeholder((32, 12, 3, 3), "int8")
    workload = workload_of(data, kernel, 1, 1, 1, "int32")
    lanes = {"int32_lanes": 16, "num_int8_elements": 4}
    got = tiles(fallback_schedule_cpu_common_int8, workload, **lanes)
    assert got == {"tile_ic": [1, 12], "tile_oc": [2, 16], "tile_ow": [1, 14]}
    assert tiles(fallback_schedule_cpu_1x1_int8, workload, **lanes)["tile_oh"] == 2
    with pytest.raises(ValueError, match="32 channels of the result do not fill vectors of 64"):
        tiles(fallback_schedule_cpu_common_int8, workload, int32_lanes=64, num_int8_elements=4)


def test_outside_of_templates_a_configuration_is_empty():
    with Target("llvm"):
        assert autotvm.get_config().is_fallback
