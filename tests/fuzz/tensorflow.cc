// TensorFlow graphs: any bytes are read and imported, or rejected, as a GraphDef and as a SavedModel's file.

#include "expect_error.h"
#include "frontend/tensorflow/importer.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  expect_value_or_error([&] {
    tensorflow::looks_like_graph(bytes);
    const tensorflow::GraphDef graph = tensorflow::parse_graph(bytes);
    tensorflow::import_graph(graph, {});
  });
  expect_value_or_error([&] { tensorflow::survey_graph(tensorflow::parse_graph(bytes), {}); });
  expect_value_or_error([&] {
    for (const tensorflow::MetaGraph& one : tensorflow::parse_saved_model(bytes))
      if (!one.graph.nodes.empty()) tensorflow::import_graph(one.graph, {});
  });
  return 0;
}
