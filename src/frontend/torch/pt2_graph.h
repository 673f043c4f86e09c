#pragma once
// The JSON of torch.export as a program.

#include "frontend/torch/graph.h"

namespace tessera::torch {

/// Where a tensor of the program lies: what the graph calls it, and its name in the file.
struct ExportedProgramText {
  Program program;
  std::vector<std::pair<std::string, std::string>> weights;  // name in the graph, name in the state_dict
};
ExportedProgramText read_exported_graph(std::string_view json);

/// torch.export's number of an element type as TorchScript's.
int64_t scalar_type_of_export(int64_t number);

}  // namespace tessera::torch
