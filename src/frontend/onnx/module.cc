// The importer as functions that Python calls.

#include "frontend/common/python.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/tensor.h"
#include "relay/make.h"
#include "runtime/registry.h"

namespace tessera::onnx {
namespace {

/// Null is an optional without content, an array a sequence, a map of "shape" and "items" a tensor of strings.
Value value_of(const ObjectRef& given) {
  if (!given.defined()) return Value();
  if (given.as<MapNode>()) {
    auto parts = downcast<Map<String, ObjectRef>>(given);
    Texts out;
    for (const PrimExpr& extent : downcast<Array<PrimExpr>>(parts["shape"])) out.shape.push_back(*as_int(extent));
    for (const String& item : downcast<Array<String>>(parts["items"])) out.items.push_back(item.str());
    return Value::of(std::move(out));
  }
  if (!given.as<ArrayNode>()) return Value(relay::make_constant(downcast<NDArray>(given)));
  std::vector<Value> items;
  for (const ObjectRef& item : downcast<Array<ObjectRef>>(given)) items.push_back(value_of(item));
  return Value::of(std::move(items));
}

ImportOptions options_from(const Map<String, Array<PrimExpr>>& shapes, const Map<String, String>& dtypes, int64_t opset,
                           bool freeze_params, const Map<String, ObjectRef>& frozen) {
  ImportOptions out;
  out.shapes = frontend::shapes_from(shapes);
  out.dtypes = frontend::dtypes_from(dtypes);
  if (opset >= 0) out.opset = opset;
  out.freeze_params = freeze_params;
  out.takes_texts = true;  // what calls this looks at them
  for (const auto& [name, value] : frozen) out.frozen.emplace(name.str(), value_of(value));
  return out;
}

/// The module, its parameters, and outputs that are strings, by name.
Array<ObjectRef> as_array(const Imported& imported) {
  Map<String, ObjectRef> texts;
  for (const auto& [name, value] : imported.texts) {
    Map<String, ObjectRef> parts;
    Array<PrimExpr> shape;
    Array<String> items;
    for (int64_t extent : value.texts->shape) shape.push_back(PrimExpr(static_cast<int>(extent)));
    for (const std::string& item : value.texts->items) items.push_back(String(item));
    parts.set("shape", shape);
    parts.set("items", items);
    texts.set(String(name), parts);
  }
  return {imported.mod, imported.params, texts};
}

/// `initializers` has the raw data, as bytes, of tensors of the main graph that `bytes` leaves empty.
Array<ObjectRef> import_bytes(const AnyView& bytes, const Map<String, NDArray>& initializers,
                              const Map<String, Array<PrimExpr>>& shapes, const Map<String, String>& dtypes,
                              int64_t opset, bool freeze_params, const Map<String, ObjectRef>& frozen) {
  Model model = parse_model(frontend::borrowed_bytes(bytes), nullptr, {});
  for (Tensor& tensor : model.graph.initializers)
    if (String name(tensor.name); !tensor.has_raw && initializers.count(name)) set_raw(tensor, initializers[name]);
  return as_array(import_model(model, options_from(shapes, dtypes, opset, freeze_params, frozen)));
}

Array<ObjectRef> import_file(const std::string& path, const Map<String, Array<PrimExpr>>& shapes,
                             const Map<String, String>& dtypes, int64_t opset, bool freeze_params,
                             const Map<String, ObjectRef>& frozen, const std::string& allow_links) {
  return as_array(
      import_model(read_model(path, allow_links), options_from(shapes, dtypes, opset, freeze_params, frozen)));
}

static Globals module_globals{
    {"frontend.onnx.import_bytes", import_bytes},
    {"frontend.onnx.import_file", import_file},
    {"frontend.onnx.unsupported",
     [](const AnyView& bytes) {
       Array<String> out;
       for (const auto& [op, domain] : unsupported_operators(parse_model(frontend::borrowed_bytes(bytes), nullptr, {})))
         out.push_back(String(domain.empty() ? op : domain + "." + op));
       return out;
     }},
};

}  // namespace
}  // namespace tessera::onnx
