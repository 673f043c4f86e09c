// The importer as functions that Python calls.

#include "frontend/onnx/importer.h"
#include "ir/prim_ops.h"
#include "relay/make.h"
#include "runtime/registry.h"

namespace tessera::onnx {
namespace {

/// Null is an optional without content, an array a sequence.
Value value_of(const ObjectRef& given) {
  if (!given.defined()) return Value();
  if (!given.as<ArrayNode>()) return Value(relay::make_constant(downcast<NDArray>(given)));
  std::vector<Value> items;
  for (const ObjectRef& item : downcast<Array<ObjectRef>>(given)) items.push_back(value_of(item));
  return Value::of(std::move(items));
}

ImportOptions options_from(const Map<String, Array<PrimExpr>>& shapes, const Map<String, String>& dtypes, int64_t opset,
                           bool freeze_params, const Map<String, ObjectRef>& frozen) {
  ImportOptions out;
  for (const auto& [name, shape] : shapes) {
    std::vector<int64_t>& extents = out.shapes[name.str()];
    for (const PrimExpr& extent : shape) extents.push_back(as_int(extent) ? *as_int(extent) : -1);
  }
  for (const auto& [name, dtype] : dtypes) out.dtypes[name.str()] = DataType(dtype.str());
  if (opset >= 0) out.opset = opset;
  out.freeze_params = freeze_params;
  for (const auto& [name, value] : frozen) out.frozen.emplace(name.str(), value_of(value));
  return out;
}

Array<ObjectRef> import_bytes(const Bytes& bytes, const std::string& folder, const Map<String, Array<PrimExpr>>& shapes,
                              const Map<String, String>& dtypes, int64_t opset, bool freeze_params,
                              const Map<String, ObjectRef>& frozen) {
  auto memory = std::make_shared<const std::string>(bytes.str());
  Model model = parse_model(*memory, memory, folder);
  Imported out = import_model(model, options_from(shapes, dtypes, opset, freeze_params, frozen));
  return {out.mod, out.params};
}

Array<ObjectRef> import_file(const std::string& path, const Map<String, Array<PrimExpr>>& shapes,
                             const Map<String, String>& dtypes, int64_t opset, bool freeze_params,
                             const Map<String, ObjectRef>& frozen) {
  Imported out = import_model(read_model(path), options_from(shapes, dtypes, opset, freeze_params, frozen));
  return {out.mod, out.params};
}

static Globals globals{
    {"frontend.onnx.import_bytes", import_bytes},
    {"frontend.onnx.import_file", import_file},
    {"frontend.onnx.unsupported",
     [](const Bytes& bytes) {
       auto memory = std::make_shared<const std::string>(bytes.str());
       Array<String> out;
       for (const auto& [op, domain] : unsupported_operators(parse_model(*memory, memory, "")))
         out.push_back(String(domain.empty() ? op : domain + "." + op));
       return out;
     }},
};

}  // namespace
}  // namespace tessera::onnx
