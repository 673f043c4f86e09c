// What converters ask of a node beside its inputs: types, numbers that are attributes or tensors, layouts.

#include "frontend/common/parts.h"
#include "frontend/paddle/paddle.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::paddle {

using namespace relay;  // NOLINT: makers of calls

std::optional<DataType> type_in(const LayerNode& in, std::string_view attribute) {
  if (!in.fields().has(attribute)) return std::nullopt;
  ObjectRef value = in.fields().get(attribute);
  if (auto* text = value.as<StringNode>()) {
    if (text->text.starts_with("undefined") || text->text.starts_with("Undefined")) return std::nullopt;
    return DataType(text->text);
  }
  const int64_t number = in.integer(attribute);
  return number < 0 ? std::nullopt : std::optional(type_of_number(number));
}

namespace {

Exprs tensors_of(const LayerNode& in, std::string_view attribute, std::initializer_list<const char*> slots) {
  for (const char* slot : slots)
    if (in.has_slot(slot)) return in.slots(slot);
  return in.slots(attribute);
}

}  // namespace

Expr ints_of(const LayerNode& in, std::string_view attribute, std::initializer_list<const char*> slots) {
  Exprs tensors = tensors_of(in, attribute, slots);
  Array<Expr> parts;
  for (const Expr& tensor : tensors) {
    Expr flat = in.rank(tensor) == 1 ? tensor : reshape_to(tensor, {-1});
    parts.push_back(typed(cast_if_needed(in, typed(flat), DataType::Int(64))));
  }
  if (!parts.empty()) return parts.size() == 1 ? parts[0] : typed(concatenate(parts, 0));
  if (!in.fields().has(attribute)) return nullptr;
  return make_ints(in.fields().integers(attribute));
}

Ints known_ints(const LayerNode& in, std::string_view attribute, std::initializer_list<const char*> slots) {
  if (tensors_of(in, attribute, slots).empty()) return in.fields().integers(attribute);
  return in.needed_ints(ints_of(in, attribute, slots), std::string(attribute));
}

int64_t known_int(const LayerNode& in, std::string_view attribute, int64_t otherwise,
                  std::initializer_list<const char*> slots) {
  Ints all = known_ints(in, attribute, slots);
  return all.empty() ? otherwise : all[0];
}

Expr number_of(const LayerNode& in, std::string_view attribute, double otherwise, DataType dtype,
               std::initializer_list<const char*> slots) {
  Exprs tensors = tensors_of(in, attribute, slots);
  if (tensors.empty()) return make_scalar(in.number(attribute, otherwise), dtype);
  Expr value = in.rank(tensors[0]) ? reshape_to(tensors[0], {}) : tensors[0];
  return typed(cast_if_needed(in, typed(value), dtype));
}

bool has_channels_last(const LayerNode& in, std::string_view attribute) {
  const std::string layout = in.text(attribute);
  return layout.size() > 2 && layout.back() == 'C';
}

Expr channels_second(const LayerNode& in, const Expr& x) {
  const auto rank = static_cast<int64_t>(in.rank(x));
  std::vector<int64_t> axes{0, rank - 1};
  for (int64_t i = 1; i < rank - 1; ++i) axes.push_back(i);
  return typed(transpose(x, int_array(axes)));
}

Expr channels_last(const LayerNode& in, const Expr& x) {
  const auto rank = static_cast<int64_t>(in.rank(x));
  std::vector<int64_t> axes{0};
  for (int64_t i = 2; i < rank; ++i) axes.push_back(i);
  axes.push_back(1);
  return typed(transpose(x, int_array(axes)));
}

const LayerTable& converters() {
  static const LayerTable table =
      table_of({control_rows, create_rows, detection_rows, elementwise_rows, image_rows, index_rows, nn_rows,
                quantized_rows, recurrent_rows, reduction_rows, shape_rows, window_rows});
  return table;
}

}  // namespace tessera::paddle
