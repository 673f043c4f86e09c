"""These tests need PyTorch: `make test-frameworks FRAMEWORK=torch`. The folder is not called torch, which Python would import."""

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("torch") else ["test_*.py"]
