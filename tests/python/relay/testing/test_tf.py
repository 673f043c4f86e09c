"""Helpers for graphs of TensorFlow, as far as they need none."""

import sys
import types

import numpy as np
import pytest
from tessera.contrib import download
from tessera.relay.testing import tf


def test_names_of_classes(tmp_path):
    uids, labels = tmp_path / "uid.txt", tmp_path / "label.pbtxt"
    uids.write_text("n001\tfish, water thing\nn002\tbird\n")
    labels.write_text('entry {\n  target_class: 7\n  target_class_string: "n002"\n}\n')
    lookup = tf.NodeLookup(str(labels), str(uids))
    assert lookup.id_to_string(7) == "bird" and lookup.id_to_string(3) == ""
    with pytest.raises(FileNotFoundError, match="File does not exist"):
        tf.NodeLookup(str(labels), str(tmp_path / "none"))


def test_indices_by_weight():
    np.random.seed(0)
    picks = [tf.pick_from_weight([0.0, 1.0, 3.0]) for _ in range(400)]
    assert set(picks) == {1, 2} and 230 < picks.count(2) < 370


def test_lists():
    assert tf.convert_to_list("a") == ["a"] and tf.convert_to_list(["a"]) == ["a"]
    assert tf.vmobj_to_list([types.SimpleNamespace(numpy=lambda: 1), types.SimpleNamespace(numpy=lambda: 2)]) == [1, 2]
    assert tf.get_config().hidden_size == 200


def test_a_graph_is_read_from_the_cache_by_tensorflow(tmp_path, monkeypatch):
    monkeypatch.setattr(download, "TEST_DATA_ROOT_PATH", tmp_path)
    (tmp_path / "tf").mkdir()
    (tmp_path / "tf" / "net.pb").write_bytes(b"bytes")

    class GraphDef:
        def ParseFromString(self, text):
            self.text = text

    class Graph:
        def as_default(self):
            import contextlib

            return contextlib.nullcontext()

        def as_graph_def(self, **_):
            return fake.read

    fake = types.SimpleNamespace(GraphDef=GraphDef, Graph=Graph)
    fake.import_graph_def = lambda graph, name: setattr(fake, "read", graph.text)
    monkeypatch.setitem(sys.modules, "tensorflow", fake)
    monkeypatch.setitem(sys.modules, "tensorflow.compat", None)
    monkeypatch.setitem(sys.modules, "tensorflow.compat.v1", fake)
    assert tf.get_workload("net.pb") == b"bytes"
