// What the options of operators say, as attributes by TensorFlow's names: one row a table of the schema, with the slots of
// its fields.

#include "frontend/tflite/options.h"

#include <flatbuffers/flexbuffers.h>

namespace tessera::tflite {

using tensorflow::Attribute;
using tensorflow::Attributes;

namespace {

enum class Kind { Int8, Int32, Int64, Bool, Float, Type, Padding, Mirror, Ints, Floats, Text, Subgraph };

struct Field {
  const char* name;
  int slot;
  Kind kind;
  int otherwise = 0;
};

struct Options {
  int number;  // in the union of options
  std::vector<Field> fields;
};

const std::vector<Options>& schema() {
  const auto activation = [](int slot) { return Field{"activation", slot, Kind::Int8}; };
  const auto padding = [] { return Field{"padding", 0, Kind::Padding}; };
  static const std::vector<Options> rows{
      {1,
       {padding(),
        {"stride_w", 1, Kind::Int32},
        {"stride_h", 2, Kind::Int32},
        activation(3),
        {"dilation_w", 4, Kind::Int32, 1},
        {"dilation_h", 5, Kind::Int32, 1}}},
      {2,
       {padding(),
        {"stride_w", 1, Kind::Int32},
        {"stride_h", 2, Kind::Int32},
        {"depth_multiplier", 3, Kind::Int32},
        activation(4),
        {"dilation_w", 5, Kind::Int32, 1},
        {"dilation_h", 6, Kind::Int32, 1}}},
      {5,
       {padding(),
        {"stride_w", 1, Kind::Int32},
        {"stride_h", 2, Kind::Int32},
        {"filter_w", 3, Kind::Int32},
        {"filter_h", 4, Kind::Int32},
        activation(5)}},
      {6, {{"rank", 0, Kind::Int32}, activation(1)}},
      {7, {activation(0)}},
      {8, {activation(0), {"weights_format", 1, Kind::Int8}, {"keep_num_dims", 2, Kind::Bool}}},
      {9, {{"beta", 0, Kind::Float}}},
      {10, {{"axis", 0, Kind::Int32}, activation(1)}},
      {11, {activation(0)}},
      {12, {activation(0)}},
      {13,
       {{"depth_radius", 0, Kind::Int32},
        {"bias", 1, Kind::Float},
        {"alpha", 2, Kind::Float},
        {"beta", 3, Kind::Float}}},
      {14,
       {activation(0), {"cell_clip", 1, Kind::Float}, {"proj_clip", 2, Kind::Float}, {"kernel_type", 3, Kind::Int8}}},
      {15, {{"align_corners", 2, Kind::Bool}, {"half_pixel_centers", 3, Kind::Bool}}},
      {16, {{"function", 0, Kind::Subgraph}}},
      {17, {{"new_shape", 0, Kind::Ints}}},
      {19, {{"block_size", 0, Kind::Int32}}},
      {20, {{"combiner", 0, Kind::Int8}}},
      {21, {activation(0)}},
      {23, {{"axis", 0, Kind::Int32}, {"batch_dims", 1, Kind::Int32}}},
      {27, {{"keep_dims", 0, Kind::Bool}}},
      {28, {activation(0)}},
      {29, {activation(0)}},
      {30, {{"squeeze_dims", 0, Kind::Ints}}},
      {31, {{"time_major", 0, Kind::Bool}, activation(1)}},
      {32,
       {{"begin_mask", 0, Kind::Int32},
        {"end_mask", 1, Kind::Int32},
        {"ellipsis_mask", 2, Kind::Int32},
        {"new_axis_mask", 3, Kind::Int32},
        {"shrink_axis_mask", 4, Kind::Int32},
        {"offset", 5, Kind::Bool}}},
      {35, {{"num_split", 0, Kind::Int32}}},
      {37, {{"DstT", 1, Kind::Type}}},
      {40, {{"output_type", 0, Kind::Type}}},
      {49, {padding(), {"stride_w", 1, Kind::Int32}, {"stride_h", 2, Kind::Int32}, activation(3)}},
      {55, {{"out_type", 0, Kind::Type}}},
      {57, {{"output_type", 0, Kind::Type}}},
      {58,
       {{"min", 0, Kind::Float},
        {"max", 1, Kind::Float},
        {"num_bits", 2, Kind::Int32},
        {"narrow_range", 3, Kind::Bool}}},
      {59, {{"axis", 1, Kind::Int32}}},
      {61, {{"axis", 0, Kind::Int32}}},
      {64, {{"num", 0, Kind::Int32}, {"axis", 1, Kind::Int32}}},
      {69,
       {activation(0),
        {"cell_clip", 1, Kind::Float},
        {"proj_clip", 2, Kind::Float},
        {"merge_outputs", 3, Kind::Bool},
        {"time_major", 4, Kind::Bool, 1}}},
      {70, {{"time_major", 0, Kind::Bool}, activation(1), {"merge_outputs", 2, Kind::Bool}}},
      {71,
       {activation(0),
        {"cell_clip", 1, Kind::Float},
        {"proj_clip", 2, Kind::Float},
        {"time_major", 3, Kind::Bool},
        {"diagonal_recurrent", 5, Kind::Bool}}},
      {74, {{"align_corners", 0, Kind::Bool}, {"half_pixel_centers", 1, Kind::Bool}}},
      {75, {{"alpha", 0, Kind::Float}}},
      {77, {{"mode", 0, Kind::Mirror}}},
      {79, {{"num_split", 0, Kind::Int32}}},
      {80, {{"out_idx", 0, Kind::Type, 2}}},
      {87, {{"seq_dim", 0, Kind::Int32}, {"batch_dim", 1, Kind::Int32}}},
      {92, {{"then_branch", 0, Kind::Subgraph}, {"else_branch", 1, Kind::Subgraph}}},
      {93, {{"cond", 0, Kind::Subgraph}, {"body", 1, Kind::Subgraph}}},
      {94, {{"block_size", 0, Kind::Int32}}},
      {101, {{"adj_x", 0, Kind::Bool}, {"adj_y", 1, Kind::Bool}}},
      {102, {{"exclusive", 0, Kind::Bool}, {"reverse", 1, Kind::Bool}}},
      {103, {{"function", 0, Kind::Subgraph}}},
      {106,
       {padding(),
        {"stride_d", 1, Kind::Int32},
        {"stride_w", 2, Kind::Int32},
        {"stride_h", 3, Kind::Int32},
        activation(4),
        {"dilation_d", 5, Kind::Int32, 1},
        {"dilation_w", 6, Kind::Int32, 1},
        {"dilation_h", 7, Kind::Int32, 1}}},
      {111, {{"container", 0, Kind::Text}, {"shared_name", 1, Kind::Text}}},
      {114, {{"seed", 0, Kind::Int64}, {"seed2", 1, Kind::Int64}}},
      {115, {{"boundaries", 0, Kind::Floats}}},
      {116, {{"approximate", 0, Kind::Bool}}},
  };
  return rows;
}

DataType type_of_number(int number) {
  const DataType out = memory_type(static_cast<TensorKind>(number));
  return out;
}

Attribute attribute_of(const TableView& table, const Field& field) {
  switch (field.kind) {
    case Kind::Int8: return Attribute::of(table.number<int8_t>(field.slot, static_cast<int8_t>(field.otherwise)));
    case Kind::Int32: return Attribute::of(table.number<int32_t>(field.slot, field.otherwise));
    case Kind::Int64: return Attribute::of(table.number<int64_t>(field.slot, field.otherwise));
    case Kind::Bool:
      return Attribute::of(table.number<uint8_t>(field.slot, static_cast<uint8_t>(field.otherwise)) != 0);
    case Kind::Float: return Attribute::of_real(table.number<float>(field.slot, 0));
    case Kind::Type:
      return Attribute::of_type(type_of_number(table.number<int8_t>(field.slot, static_cast<int8_t>(field.otherwise))));
    case Kind::Padding: return Attribute::of_text(table.number<int8_t>(field.slot, 0) == 0 ? "SAME" : "VALID");
    case Kind::Mirror: return Attribute::of_text(table.number<int8_t>(field.slot, 0) == 0 ? "REFLECT" : "SYMMETRIC");
    case Kind::Text: return Attribute::of_text(std::string(table.text(field.slot)));
    case Kind::Subgraph: return Attribute::of_text(std::to_string(table.number<int32_t>(field.slot, 0)));
    case Kind::Ints: {
      std::vector<int32_t> values = table.numbers<int32_t>(field.slot);
      return Attribute::of_ints({values.begin(), values.end()});
    }
    case Kind::Floats: {
      std::vector<Attribute> values;
      for (float value : table.numbers<float>(field.slot)) values.push_back(Attribute::of_real(value));
      Attribute out;
      out.list = std::make_shared<const std::vector<Attribute>>(std::move(values));
      return out;
    }
  }
  return {};
}

}  // namespace

Attributes attributes_of(int options, const TableView& table) {
  Attributes out;
  for (const Options& row : schema())
    if (row.number == options)
      for (const Field& field : row.fields) out[field.name] = attribute_of(table, field);
  return out;
}

Attributes custom_attributes(std::string_view bytes) {
  Attributes out;
  if (bytes.empty()) return out;
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  std::vector<uint8_t> seen;
  if (bytes.size() < 3 || !flexbuffers::VerifyBuffer(data, bytes.size(), &seen))
    return out;  // options of a format of its own
  flexbuffers::Reference root = flexbuffers::GetRoot(data, bytes.size());
  if (!root.IsMap()) return out;
  flexbuffers::Map map = root.AsMap();
  flexbuffers::TypedVector keys = map.Keys();
  flexbuffers::Vector values = map.Values();
  for (size_t i = 0; i < keys.size(); ++i) {
    const std::string key = keys[i].AsKey();
    if (values[i].IsFloat()) out[key] = Attribute::of_real(values[i].AsDouble());
    else if (values[i].IsIntOrUint() || values[i].IsBool()) out[key] = Attribute::of(values[i].AsInt64());
    else if (values[i].IsString()) out[key] = Attribute::of_text(values[i].AsString().str());
  }
  return out;
}

}  // namespace tessera::tflite
