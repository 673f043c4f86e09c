"""Models are pickled, copied and handed to other processes."""

import copy
import multiprocessing
import os
import pickle
import pickletools
import shutil
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
import tessera
from tessera import relay

X = np.linspace(-1, 1, 12, dtype="float32").reshape(3, 4)


def program(rows=3):
    x = relay.var("x", shape=(rows, 4), dtype="float32")
    weight = relay.const(np.eye(4, dtype="float32") * 3)
    return tessera.IRModule.from_expr(relay.Function([x], relay.nn.relu(relay.nn.dense(x, weight))))


EXPECTED = np.maximum(X * 3, 0)


@pytest.fixture(params=["graph", "machine", "library"])
def model(request):
    if request.param == "library":
        return tessera.Model(relay.build(program(), target="llvm"))
    return tessera.compile(program(3 if request.param == "graph" else relay.Any()))


def test_a_pickle_holds_the_model(model):
    for _ in range(2):  # also what came from a pickle
        model = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(model(X)[0], EXPECTED)
    assert [info.name for info in model.inputs] == ["x"]


def test_a_model_of_a_file_is_pickled_when_the_file_is_gone(model, tmp_path):
    path = tmp_path / "m.so"
    model.save(path)
    loaded = tessera.Model(path)
    path.unlink()
    again = pickle.loads(pickle.dumps(loaded))
    np.testing.assert_array_equal(again(X)[0], EXPECTED)
    again.save(tmp_path / "again.so")
    np.testing.assert_array_equal(tessera.Model(tmp_path / "again.so")(X)[0], EXPECTED)


def test_a_file_that_was_changed_is_not_pickled(tmp_path):
    path = tmp_path / "m.tar"
    tessera.compile(program()).save(path)
    loaded = tessera.Model(path)
    with open(path, "ab") as file:
        file.write(b"more")
    with pytest.raises(RuntimeError, match=r"m\.tar was changed after the model was loaded"):
        pickle.dumps(loaded)


def test_copies_share_code_and_weights():
    model = tessera.compile(program(), num_threads=2)
    for other in (copy.copy(model), copy.deepcopy(model), copy.deepcopy({"m": [model]})["m"][0]):
        assert other is not model and other.num_threads == 2
        np.testing.assert_array_equal(other(X)[0], EXPECTED)
        assert other._built["runnable"] is model._built["runnable"]


def test_device_and_threads_are_kept():
    cpu = min(os.sched_getaffinity(0))
    model = tessera.compile(program(), device=tessera.cpu(0), num_threads=1, affinity=[cpu])
    other = pickle.loads(pickle.dumps(model))
    assert other.device == tessera.cpu(0) and other.num_threads == 1 and other.affinity == (cpu,)


def predict(model, x):
    return model(x)[0].numpy(), os.getpid()


def test_a_spawned_process_runs_the_model():
    model = tessera.compile(program())
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        result, process = pool.submit(predict, model, X).result(timeout=120)
    np.testing.assert_array_equal(result, EXPECTED)
    assert process != os.getpid()


def test_a_pickle_names_one_function_and_plain_values(model):
    """Nothing in it can run but the reading of a package."""
    names = [arg for op, arg, _ in pickletools.genops(pickle.dumps(model, 2)) if op.name == "GLOBAL"]
    assert names[0] == "tessera.model _from_bytes" and all("encode" in name for name in names[1:])


def hostile(data):
    tar = bytearray(data)
    tar[1000:1100] = b"\xff" * 100
    yield bytes(tar)
    yield data[: len(data) // 2]
    yield data[:600]
    yield b"\x7fELF" + b"\0" * 100
    yield b"\x7fELF"
    yield b""
    yield b"text"


def test_hostile_bytes_are_checked_as_a_file_is(tmp_path):
    data = tessera.compile(program()).to_bytes()
    for index, bad in enumerate(hostile(data)):
        with pytest.raises((ValueError, OSError, RuntimeError, tessera.TVMError)) as from_bytes:
            tessera.model._from_bytes(bad, None, None, None)
        if bad.startswith(data[:300]):
            path = tmp_path / f"{index}.tar"
            path.write_bytes(bad)
            with pytest.raises(type(from_bytes.value)):
                tessera.Model(path)
    assert not list(tmp_path.glob("tessera-*"))


def test_no_temporary_file_stays(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", None)
    model = pickle.loads(pickle.dumps(tessera.compile(program())))
    np.testing.assert_array_equal(model(X)[0], EXPECTED)
    assert not list(tmp_path.iterdir())
    shutil.rmtree(tmp_path)
