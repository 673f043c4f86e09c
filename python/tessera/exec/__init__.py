"""Programs that are started with ``python -m``: RPC servers, trackers and proxies."""
