// The graphs of the graph executor: any bytes are read as a graph that is safe to run, or rejected.

#include "expect_error.h"
#include "runtime/graph_executor/graph_executor.h"

using namespace tessera;

namespace {

constexpr size_t kMaxBytes = 1 << 20;

/// A library that has every function; each writes zeros to all of its last argument.
class Library final : public ModuleBody {
 public:
  std::string type_key() const override { return "library"; }
  PackedFunc get_function(const std::string&, const Module&) override {
    return PackedFunc([](Args args, Any*) {
      auto* out = static_cast<DLTensor*>(args[args.size() - 1].raw().v_handle);
      std::memset(data_of(out), 0, tensor_bytes(out));
    });
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  expect_value_or_error([&] {
    Graph graph = Graph::parse({reinterpret_cast<const char*>(data), size});
    size_t bytes = 0;
    for (const Graph::Entry& entry : graph.entries) {
      size_t more = tensor_bytes(entry.shape, entry.dtype);
      if (more > kMaxBytes || (bytes += more) > kMaxBytes) return;
    }
    GraphExecutor executor(std::move(graph), make_module<Library>(), {cpu()});
    executor.run();
    for (int i = 0; i < executor.num_inputs(); ++i) executor.input(i);
    for (int i = 0; i < executor.num_outputs(); ++i) executor.output(i);
  });
  return 0;
}
