// Programs of PyTorch: any bytes are read as a file of torch.export, or as the graph that the Python side writes, and imported, or
// rejected.

#include "expect_error.h"
#include "frontend/torch/importer.h"
#include "frontend/torch/pickled_tensors.h"
#include "frontend/torch/pt2.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  torch::ImportOptions options;
  options.most_nodes = 2000;
  expect_value_or_error([&] { torch::read_pickled_tensors(bytes, "the file"); });
  expect_value_or_error([&] {
    torch::Program program = bytes.starts_with("PK") ? torch::read_pt2(bytes, "the file") : torch::read_graph(bytes);
    expect_value_or_error([&] { torch::import_program(program, options); });
    torch::survey_program(program, options);
  });
  return 0;
}
