"""Convolutions and pools of all kinds give the same bits with any number of threads."""

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import hashlib, sys
sys.path.insert(0, sys.argv[1])
import test_conv_kinds as kinds
import test_winograd as winograd
from tessera import relay


def show(name, function, inputs):
    print(name, hashlib.sha256(kinds.run(function, inputs).tobytes()).hexdigest())


for name in ("rows by rows", "rows of a batch", "tiles that stick out"):
    x, y, inputs, _ = winograd.conv(*winograd.SHAPES[name])
    assert winograd.chosen(relay.Function([x], y), "llvm"), name
    show(name, relay.Function([x], y), inputs)

data = {"x": kinds.values((1, 32, 30, 31)), "l": kinds.values((1, 32, 900))}
x, l = relay.var("x", shape=data["x"].shape), relay.var("l", shape=data["l"].shape)


def conv(op, data, *shape, **how):
    return op(data, relay.const(kinds.values(shape)), channels=32, kernel_size=shape[2:], **how)


for name, (value, body) in {
    "groups": (x, conv(relay.nn.conv2d, x, 32, 4, 3, 3, groups=8, padding=(1, 1))),
    "a line": (l, conv(relay.nn.conv1d, l, 32, 32, 5, strides=2, padding=(2,))),
    "transposed": (x, conv(relay.nn.conv2d_transpose, x, 32, 32, 3, 3, strides=(2, 2), kernel_layout="IOHW")),
    "a mean": (x, relay.nn.avg_pool2d(x, (3, 3), (2, 2), padding=(1, 1))),
    "a maximum": (x, relay.nn.max_pool2d(x, (3, 3), (1, 1), padding=(1, 1))),
    "all": (x, relay.nn.global_avg_pool2d(x)),
}.items():
    show(name, relay.Function([value], body), {value.name_hint: data[value.name_hint]})
"""


def test_another_number_of_threads_gives_the_same_bits():
    seen = []
    for threads in ("1", "2", "3"):
        command = [sys.executable, "-c", PROGRAM, str(Path(__file__).parent)]
        env = dict(os.environ, TVM_NUM_THREADS=threads)
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        seen.append(done.stdout.splitlines())
    assert len(seen[0]) == 9
    assert seen[0] == seen[1] == seen[2]
