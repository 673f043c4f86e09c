"""`tvmc run` and `tvmc.run` on the machine of an RPC server."""

import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
import tessera
from tessera import relay, rpc
from tessera.driver import tvmc
from tessera.driver.tvmc import TVMCException
from tessera.driver.tvmc.model import TVMCModel
from tessera.rpc.tracker import Tracker

PROGRAM = Path(tessera.__file__).parent / "bin" / "tessera"
W = np.random.default_rng(5).standard_normal((3, 4)).astype("float32")
X = np.arange(8, dtype="float32").reshape(2, 4) / 8
WANTED = np.maximum(X @ W.T, 0)


@pytest.fixture(scope="module")
def tracker():
    tracker = Tracker(port=0)
    yield tracker
    tracker.terminate()


@pytest.fixture(scope="module")
def server(tracker):
    server = rpc.Server(port=0, key="board", silent=True, tracker_addr=("127.0.0.1", tracker.port))
    client = rpc.connect_tracker("127.0.0.1", tracker.port)
    while not client.summary()["queue_info"].get("board", {}).get("free"):
        time.sleep(0.02)
    yield server
    server.terminate()


@pytest.fixture(scope="module")
def lone():
    """A server that no tracker lists, without a key."""
    server = rpc.Server(port=0, silent=True)
    yield server
    server.terminate()


@pytest.fixture
def package(tmp_path):
    x, w = relay.var("x", shape=(2, 4)), relay.var("w", shape=(3, 4))
    mod = tessera.IRModule.from_expr(relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w))))
    return tvmc.compile(
        TVMCModel(mod, {"w": tessera.nd.array(W)}), target="llvm", package_path=str(tmp_path / "dense.tar")
    )


def run(*words, code=0):
    done = subprocess.run([PROGRAM, "run", *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr + done.stdout
    return done.stderr if code else done.stdout


@pytest.mark.parametrize("by_tracker", [True, False])
def test_the_program_runs_a_package_on_a_server(package, server, lone, tracker, tmp_path, by_tracker):
    np.savez(tmp_path / "in.npz", x=X)
    port = tracker.port if by_tracker else lone.port
    where = ["--rpc-tracker", f"127.0.0.1:{port}", *(["--rpc-key", "board"] if by_tracker else [])]
    text = run(package.package_path, "-i", tmp_path / "in.npz", "-o", tmp_path / "out.npz", "--print-time", *where)
    assert "mean (ms)" in text
    with np.load(tmp_path / "out.npz") as out:
        np.testing.assert_allclose(out[out.files[0]], WANTED, rtol=1e-5)


def test_a_model_is_compiled_here_and_runs_there(lone, tmp_path):
    (tmp_path / "model.relay").write_text(
        '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2, 4), float32]) {\n  nn.relu(%x)\n}\n'
    )
    where = ["--rpc-tracker", f"127.0.0.1:{lone.port}", "--fill-mode", "ones"]
    run(tmp_path / "model.relay", "-o", tmp_path / "out.npz", *where)
    with np.load(tmp_path / "out.npz") as out:
        np.testing.assert_array_equal(out[out.files[0]], np.ones((2, 4), "float32"))


@pytest.mark.parametrize("by_tracker", [True, False])
def test_python_runs_a_package_on_a_server(package, server, lone, tracker, by_tracker):
    where = {"port": tracker.port, "rpc_key": "board"} if by_tracker else {"port": lone.port}
    result = tvmc.run(
        package, "cpu", hostname="127.0.0.1", inputs={"x": X}, benchmark=True, repeat=3, number=2, **where
    )
    np.testing.assert_allclose(result.outputs["output_0"], WANTED, rtol=1e-5)
    assert len(result.times.results) == 3 and min(result.times.results) > 0


def test_what_cannot_be_run_elsewhere_is_told(package, lone, tmp_path):
    address = f"127.0.0.1:{lone.port}"
    assert "name it with --rpc-tracker" in run(package.package_path, "--rpc-key", "board", code=4)
    assert "are for this machine" in run(package.package_path, "--rpc-tracker", address, "--profile", code=4)
    assert "is host:port" in run(package.package_path, "--rpc-tracker", "127.0.0.1:x", code=4)
    with pytest.raises(TVMCException, match="name the tracker too"):
        tvmc.run(package, "cpu", rpc_key="board")
    with pytest.raises(TVMCException, match="not from another"):
        tvmc.run(package, "cpu", hostname="127.0.0.1", port=lone.port, profile=True)
    program = tvmc.compile(TVMCModel(*vm_model()), target="llvm", use_vm=True, package_path=str(tmp_path / "vm.tar"))
    with pytest.raises(TVMCException, match="is a vm package; on another machine graphs for one CPU run"):
        tvmc.run(program, "cpu", hostname="127.0.0.1", port=lone.port)


def vm_model():
    x = relay.var("x", shape=(2, 4))
    return tessera.IRModule.from_expr(relay.nn.relu(x)), {}
