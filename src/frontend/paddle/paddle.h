#pragma once
// PaddlePaddle's models: a program, as descriptions of operators (`.pdmodel`) or as PIR (`.json`), and its tensors (`.pdiparams`).
// Both forms become one graph, whose operators, slots and attributes have the names of the first.

#include <optional>

#include "frontend/graph/importer.h"

namespace tessera::paddle {

using namespace frontend;  // NOLINT: what importers share is their language

using Params = std::unordered_map<std::string, NDArray>;

/// A program, and the parameters that it needs, whose values are elsewhere.
struct Program {
  GraphModel graph;
  std::vector<GraphInput> params;  // in the order of their names, in which files have them
};

bool is_program(std::string_view bytes);
bool is_pir(std::string_view bytes);
/// Either of them.
Program read_program(std::string_view bytes);
Program read_program_desc(std::string_view protobuf);
Program read_pir(std::string_view json);
/// The tensors of a `.pdiparams`, each checked against the parameter that stands at its position.
Params read_params(std::string_view bytes, const std::vector<GraphInput>& params, const std::string& what);
/// The graph with these values; an error names the first parameter that has none.
GraphModel with_params(Program program, Params params);
/// `net.pdmodel` or `net.json` with `net.pdiparams` beside it, or `__model__` with `__params__`.
GraphModel read_files(const std::string& path);

/// The number by which programs name element types; an error for those that tensors cannot have here.
DataType type_of_number(int64_t number);
/// The element type that an attribute names, as a number or a word; nothing for "undefined" and where it is missing.
std::optional<DataType> type_in(const LayerNode& in, std::string_view attribute);

/// The results of a node with one slot that counts.
inline Exprs only(const LayerNode& in, Expr out, const char* slot = "Out") {
  return in.results({{slot, {std::move(out)}}});
}

// ---- attributes that a tensor may stand for

/// Whole numbers, int64 with one dimension: of a tensor or of several in one of these slots or in one of the attribute's name, else
/// of the attribute. Null where there is none of them.
Expr ints_of(const LayerNode& in, std::string_view attribute, std::initializer_list<const char*> slots = {});
/// The same where they must be known while importing; empty where there are none.
Ints known_ints(const LayerNode& in, std::string_view attribute, std::initializer_list<const char*> slots = {});
int64_t known_int(const LayerNode& in, std::string_view attribute, int64_t otherwise,
                  std::initializer_list<const char*> slots = {});
/// A number without dimensions.
Expr number_of(const LayerNode& in, std::string_view attribute, double otherwise, DataType dtype,
               std::initializer_list<const char*> slots = {});

/// True where channels are the last dimension; `attribute` is the layout's ("NHWC").
bool has_channels_last(const LayerNode& in, std::string_view attribute = "data_format");
/// (batch, ..., channels) as (batch, channels, ...), and back.
Expr channels_second(const LayerNode& in, const Expr& x);
Expr channels_last(const LayerNode& in, const Expr& x);

LayerRows control_rows();
LayerRows create_rows();
LayerRows detection_rows();
LayerRows elementwise_rows();
LayerRows image_rows();
LayerRows index_rows();
LayerRows nn_rows();
LayerRows quantized_rows();
LayerRows recurrent_rows();
LayerRows reduction_rows();
LayerRows shape_rows();
LayerRows window_rows();
const LayerTable& converters();

}  // namespace tessera::paddle
