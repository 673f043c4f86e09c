"""Programs of PyTorch as the JSON that the importer of the core reads; see src/frontend/torch/graph_json.cc."""
