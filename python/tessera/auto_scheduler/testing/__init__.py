"""Programs that tune a workload, a model or an ONNX file with the auto-scheduler: `python -m tessera.auto_scheduler.testing.tune_te`."""
