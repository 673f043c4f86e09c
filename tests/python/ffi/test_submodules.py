"""Submodules by their paths in v0.10, whose names lie in the package here."""

import importlib
import inspect
import subprocess
import sys
import types

import numpy as np
import pytest
import tessera.relay
import tessera.topi
import tessera.topi.testing
from tessera._submodules import PACKAGE_OF


def ours(name):
    return name.replace("tvm", "tessera", 1)


@pytest.mark.parametrize("name", sorted(PACKAGE_OF))
def test_a_submodule_has_the_names_of_its_package_and_takes_none_of_them(name):
    package = importlib.import_module(ours(PACKAGE_OF[name]))
    last = name.rpartition(".")[2]
    before = {key: value for key, value in vars(package).items() if not isinstance(value, types.ModuleType)}
    module = importlib.import_module(ours(name))
    assert module is package or module.__name__ == ours(name)
    public = [key for key in before if not key.startswith("_")]
    assert public and all(getattr(module, key) is not None for key in public)
    assert all(vars(package)[key] is before[key] for key in before)
    assert getattr(package, last) is before.get(last, module)


def test_functions_are_imported_from_where_v010_has_them():
    program = (
        "from tessera.topi.nn.conv2d import conv2d_nchw\n"
        "from tessera.topi.nn.pooling import pool2d\n"
        "import tessera.topi.testing.conv2d_nchw_python\n"
        "from tessera import relay, topi\n"
        "assert conv2d_nchw is topi.nn.conv2d_nchw and topi.nn.pooling.pool2d is pool2d\n"
        "assert topi.vision.ssd.multibox_prior is topi.vision.multibox_prior\n"
        "assert relay.op.nn.nn.conv2d is relay.nn.conv2d and relay.op.tensor.add is relay.add\n"
        "assert topi.nn.conv2d.__name__ == 'conv2d' and topi.nn.__name__ == topi.nn.__spec__.name == 'tessera.topi.nn'\n"
        "print(callable(topi.testing.conv2d_nchw_python))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "True\n", done.stderr


def test_computes_lie_beside_the_schedules_of_a_device():
    topi = tessera.topi
    for package in (topi.x86, topi.cuda):
        assert callable(package.conv2d_nchw) and callable(package.schedule_conv2d_nchw)
    for template in (
        topi.x86.dense_nopack,
        topi.mali.dense,
        topi.gpu.dense_small_batch,
        topi.mali.conv2d_nchw_winograd,
    ):
        assert next(iter(inspect.signature(template).parameters)) in (
            "cfg",
            "_",
        )  # the configuration of a tuner comes first
    assert topi.x86.conv2d_NCHWc_int8 is not topi.cuda.conv2d_NCHWc_int8


@pytest.mark.parametrize("kind", ["x86", "arm_cpu", "hls"])
def test_compute_and_schedule_of_a_cpu_package_give_the_reference(kind):
    package = getattr(tessera.topi, kind)
    data, weight = np.random.rand(1, 3, 6, 6).astype("float32"), np.random.rand(4, 3, 3, 3).astype("float32")
    wanted = tessera.topi.testing.conv2d_nchw_python(data, weight, 1, 1)
    tessera.topi.testing.compare_numpy_tvm(
        [data, weight],
        wanted,
        "llvm",
        tessera.cpu(),
        lambda x, w: package.conv2d_nchw(x, w, 1, 1, 1),
        package.schedule_conv2d_nchw,
    )


def test_submodules_need_no_import_of_their_own():
    program = (
        "import tessera\n"
        "assert tessera.relay.frontend.common.infer_shape and tessera._ffi.base.__version__ == tessera.__version__\n"
        "assert tessera.runtime.profiler_vm.VirtualMachineProfiler\n"
        "assert not hasattr(tessera.relay.frontend, 'nothing') and not hasattr(tessera.relay, '_nothing')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
