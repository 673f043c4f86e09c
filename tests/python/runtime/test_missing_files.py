"""A file that is not there is a FileNotFoundError, whoever looks for it."""

import pytest
import tessera
from tessera import relay, runtime
from tessera.driver import tvmc

READERS = {
    "tessera.compile": tessera.compile,
    "tessera.Model": tessera.Model,
    "load_module": runtime.load_module,
    "load_static_library": lambda path: runtime.load_static_library(path, ["f"]),
    "load_param_dict_from_file": tessera.get_global_func("runtime.LoadParamsFromFile"),
    "from_onnx": relay.frontend.from_onnx,
    "tvmc.load": tvmc.load,
    "TVMCModel": lambda path: tvmc.TVMCModel(model_path=path),
    "TVMCPackage": tvmc.TVMCPackage,
}


@pytest.mark.parametrize("suffix", ["onnx", "relay", "so", "tar", "o", "ll", "ptx", "params"])
@pytest.mark.parametrize("reader", READERS)
def test_a_missing_file_is_named_by_a_file_not_found_error(reader, suffix, tmp_path):
    path = str(tmp_path / f"nothing.{suffix}")
    with pytest.raises(FileNotFoundError, match=path):
        READERS[reader](path)


def test_a_folder_and_a_file_that_may_not_be_read_are_told_apart(tmp_path):
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        relay.frontend.from_onnx(tmp_path)
