// The importer as functions that Python calls.

#include "frontend/graph/python.h"
#include "frontend/paddle/paddle.h"
#include "runtime/registry.h"

namespace tessera::paddle {
namespace {

Array<ObjectRef> import_program(const AnyView& program, const Map<String, NDArray>& params,
                                const Map<String, Array<PrimExpr>>& shapes) {
  Params values;
  for (const auto& [name, value] : params) values.emplace(name.str(), value);
  GraphModel model = with_params(read_program(borrowed_bytes(program)), std::move(values));
  return as_pair(import_graph_model(model, converters(), graph_options(shapes)));
}

Array<ObjectRef> import_files(const std::string& path, const Map<String, Array<PrimExpr>>& shapes) {
  return as_pair(import_graph_model(read_files(path), converters(), graph_options(shapes)));
}

/// The names of the parameters that a program needs.
Array<String> parameters_of(const AnyView& program) {
  Array<String> out;
  for (const GraphInput& param : read_program(borrowed_bytes(program)).params) out.push_back(String(param.name));
  return out;
}

Globals paddle_globals{
    {"frontend.paddle.import_program", import_program},
    {"frontend.paddle.import_files", import_files},
    {"frontend.paddle.parameters_of", parameters_of},
};

}  // namespace
}  // namespace tessera::paddle
