#pragma once
// What modules that interpret a JSON graph share: a library's runtime derives from it and says how nodes run.

#include <mutex>

#include "base/array.h"
#include "runtime/external/json_graph.h"
#include "runtime/module/module.h"
#include "runtime/ndarray.h"

namespace tessera {

/// A module with one function, of the name `symbol`. Functions of its own: "get_symbol", "get_const_vars" and
/// "__init_<symbol>", which takes the constants. Without constants it is initialized by the first call.
class JsonRuntime : public ModuleBody {
 public:
  JsonRuntime(std::string symbol, std::string json, Array<String> const_names);

  PackedFunc get_function(const std::string& name, const Module& self) final;
  /// The graph.
  std::string get_source(const std::string&) final { return json_; }
  std::string format() final { return "json"; }
  void save_to_binary(ByteWriter& out) final;

 protected:
  /// Called once, with constants in order of `graph().constants`.
  virtual void initialize(const std::vector<NDArray>& constants) = 0;
  /// Arguments in order of `graph().inputs`, results in order of `graph().heads`; they lie on the CPU, row-major, and have the
  /// shapes of the graph. Calls come one at a time.
  virtual void run(const std::vector<DLTensor*>& inputs, const std::vector<DLTensor*>& outputs) = 0;
  const JsonGraph& graph() const { return graph_; }

 private:
  void set_constants(const Array<NDArray>& given);
  void call(Args args);
  DLTensor* checked(const AnyView& given, const JsonGraph::Tensor& wanted, int position) const;

  std::string symbol_, json_;
  Array<String> const_names_;
  JsonGraph graph_;
  bool is_ready_ = false;
  std::mutex mutex_;
};

/// Reads what save_to_binary wrote: symbol, graph, names of constants.
template <class Runtime>
Module load_json_runtime(void* stream) {
  auto& in = *static_cast<ByteReader*>(stream);
  std::string symbol = in.read_string("the symbol"), json = in.read_string("the graph");
  Array<String> names;
  for (size_t left = in.read_count(8, "the names of constants"); left > 0; --left)
    names.push_back(String(in.read_string("the name of a constant")));
  return make_module<Runtime>(std::move(symbol), std::move(json), std::move(names));
}

}  // namespace tessera
