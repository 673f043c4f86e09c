"""`tessera tune --runner ray`: on a cluster of two workers where ray is installed (`make test-ray`), and with a stand-in that starts
workers in one process."""

import importlib.util
import json
import os
import sys
from pathlib import Path

import pytest
from test_killed_searches import ENDLESS, children_of, go_on, kill_tree, stopped
from test_tune_models import FAST, PROGRAM, lines_of, run, small_model

STAND_IN = '''
"""As much of ray as the workers ask for, without a cluster."""


class _Method:
    def __init__(self, bound):
        self.bound = bound

    def remote(self, *args):
        return self.bound(*args)


class _Actor:
    def __init__(self, held):
        self.held = held

    def __getattr__(self, name):
        return _Method(getattr(self.held, name))


class _Class:
    def __init__(self, wrapped):
        self.wrapped = wrapped

    def remote(self, *args):
        return _Actor(self.wrapped(*args))


def init(address, **options):
    if address != "auto":
        raise ConnectionError("no cluster")


def nodes():
    return [{"NodeManagerAddress": "127.0.0.1", "Alive": True}]


def remote(**options):
    return _Class


def get(values, timeout=None):
    return values
'''


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.relay"
    path.write_text(small_model().astext(show_meta_data=True))
    return path


def environment(**more):
    return {**os.environ, "TESSERA_PYTHON": sys.executable, **more}


@pytest.fixture(scope="module")
def cluster():
    """The address of a cluster of two nodes on this machine."""
    utils = pytest.importorskip("ray.cluster_utils", reason="ray is not installed")
    cluster = utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    cluster.add_node(num_cpus=1)
    yield cluster.address
    cluster.shutdown()


def test_candidates_run_on_workers(tmp_path, model):
    if importlib.util.find_spec("ray") is not None:
        pytest.skip("ray is installed")
    package = tmp_path / "stand_in" / "ray"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(STAND_IN)
    paths = [str(package.parent), str(Path(__file__).parents[3] / "python"), os.environ.get("PYTHONPATH", "")]
    env = environment(PYTHONPATH=os.pathsep.join(filter(None, paths)))
    log = tmp_path / "log.jsonl"
    told = json.loads(run("tune", model, "-o", log, "--runner", "ray", "--trials", 2, *FAST, "--json", env=env).stdout)
    assert told["trials"] == 2
    assert all(each["error"] == 0 for each in lines_of(log)), log.read_text()


def ray_workers():
    """The actors' processes, each with its server, and whether that has a session."""
    out = {}
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if not entry.read_bytes().startswith(b"ray::Worker"):
                continue
        except OSError:
            continue
        pid = int(entry.parent.name)
        for server in children_of(pid):
            out[pid] = bool(children_of(server))
    return out


def test_a_killed_worker_of_a_cluster_costs_no_measurement(tmp_path, model, cluster):
    log = tmp_path / "log.jsonl"
    words = [PROGRAM, "tune", model, "-o", log, *ENDLESS, "--runner", "ray"]
    with stopped(words, log, 5, env=environment(RAY_ADDRESS=cluster)) as process:
        before = lines_of(log)
        workers = ray_workers()
        assert len(workers) == 2 and sum(workers.values()) == 1
        kill_tree(next(pid for pid, is_used in workers.items() if is_used))
        go_on(process, log, 6)
    after = lines_of(log)
    assert after[: len(before)] == before and not any(each["error"] for each in after)


def test_without_ray_the_message_says_what_to_install(tmp_path, model):
    if importlib.util.find_spec("ray") is not None:
        pytest.skip("ray is installed")
    told = run("tune", model, "-o", tmp_path / "log", "--runner", "ray", code=4, env=environment()).stderr
    assert "--runner ray: the package ray is not installed" in told
