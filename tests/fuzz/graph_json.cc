// The graphs of the graph executor: any bytes are read as a graph that is safe to run, or refused.

#include "expect_error.h"
#include "runtime/graph_executor/graph.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  expect_value_or_error([&] {
    Graph graph = Graph::parse({reinterpret_cast<const char*>(data), size});
    for (const Graph::Value& value : graph.outputs) graph.entries.at(graph.entry(value));
    for (const Graph::Node& node : graph.nodes)
      for (const Graph::Value& value : node.inputs) graph.entries.at(graph.entry(value));
  });
  return 0;
}
