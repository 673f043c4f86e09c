"""Parameter blobs: v0.10's bytes, and an error for anything damaged."""

import numpy as np
import pytest
from tessera import nd, runtime
from tessera._ffi import TVMError

BLOB = (
    "b79c04054f8de5f7" "0000000000000000" "0100000000000000" "0600000000000000" "7363616c6172"
    "0100000000000000" "3fa1b496f0405edd" "0000000000000000" "0100000000000000" "00000000"
    "00400100" "0800000000000000" "0700000000000000"
)  # fmt: skip


def test_the_bytes_are_those_of_v0_10():
    assert bytes(runtime.save_param_dict({"scalar": np.array(7, "int64")})).hex() == BLOB


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int8", "uint8", "bool", "int64"])
def test_parameters_come_back_equal(dtype):
    values = {"a": np.array([[0, 1, 1]], dtype), "b": np.array(1, dtype), "empty": np.zeros((0, 3), dtype)}
    back = runtime.load_param_dict(runtime.save_param_dict(values))
    assert sorted(back.keys()) == ["a", "b", "empty"]
    for name, value in values.items():
        assert back[name].dtype == dtype
        np.testing.assert_array_equal(back[name].numpy(), value)


def test_every_cut_of_a_blob_is_rejected():
    blob = bytes(runtime.save_param_dict({"a": np.arange(3, dtype="int32"), "b": nd.array([1.5])}))
    for size in range(len(blob)):
        with pytest.raises(ValueError, match="corrupt parameters"):
            runtime.load_param_dict(blob[:size])


@pytest.mark.parametrize("position", [16, 24, 38, 46, 70, 74, 78, 82])
def test_forged_counts_and_sizes_are_rejected_before_memory_is_taken(position):
    blob = bytearray(bytes.fromhex(BLOB))
    blob[position : position + 4] = b"\xff\xff\xff\x7f"
    with pytest.raises(ValueError, match="corrupt parameters"):
        runtime.load_param_dict(blob)


def test_parameters_go_to_files(tmp_path):
    path = str(tmp_path / "x.params")
    runtime.save_param_dict_to_file({"x": [1.0, 2.0]}, path)
    assert list(runtime.load_param_dict_from_file(path)["x"].numpy()) == [1.0, 2.0]


def test_parameters_that_cannot_be_stored_leave_the_file_as_it_was(tmp_path):
    path = tmp_path / "x.params"
    runtime.save_param_dict_to_file({"x": [1.0]}, path)
    with pytest.raises(TVMError, match="object"):
        runtime.save_param_dict_to_file({"x": object()}, path)
    assert list(runtime.load_param_dict_from_file(path)["x"].numpy()) == [1.0]
    with pytest.raises(IsADirectoryError):
        runtime.save_param_dict_to_file({"x": [1.0]}, tmp_path)
    with pytest.raises(FileNotFoundError, match="the parameter file"):
        runtime.load_param_dict_from_file(tmp_path / "none.params")
