#pragma once
// Files of torch.export, `.pt2`: a zip with the program as JSON and its weights as they lie in memory. Nothing in them is run: the one
// part that some versions write as a pickle is read as data (pickled_tensors.h).

#include <memory>

#include "frontend/torch/graph.h"

namespace tessera::torch {

/// True for a zip that has a program of torch.export.
bool is_pt2(std::string_view bytes);
/// True for a zip that torch.jit.save or torch.save wrote.
bool is_torch_archive(std::string_view bytes);
/// `what` names the file in messages.
Program read_pt2(std::string_view bytes, const std::string& what);

}  // namespace tessera::torch
