// The messages of framework.proto that are read. Numbers are facts of the format.

#include "frontend/paddle/program_desc.h"

#include "frontend/errors.h"
#include "frontend/graph/protobuf.h"
#include "frontend/paddle/paddle.h"

namespace tessera::paddle {
namespace {

using enum Proto;
constexpr bool kRepeated = true;

const ProtoMessage kTensor{"TensorDesc", {{1, "data_type", Integer}, {2, "dims", Integer, kRepeated}}, true};
const ProtoMessage kDense{"DenseTensorDesc", {{1, "tensor", Message, false, &kTensor}}, true};
const ProtoMessage kType{"VarType", {{1, "type", Integer}, {3, "dense", Message, false, &kDense}}, true};
const ProtoMessage kVar{"VarDesc",
                        {{1, "name", Text},
                         {2, "type", Message, false, &kType},
                         {3, "persistable", Integer},
                         {4, "need_check_feed", Integer}},
                        true};
const ProtoMessage kScalar{
    "Scalar", {{1, "type", Integer}, {2, "b", Integer}, {3, "i", Integer}, {4, "r", Double}}, true};
const ProtoMessage kAttribute{"Attr",
                              {{1, "name", Text},
                               {2, "type", Integer},
                               {3, "i", Integer},
                               {4, "f", Real},
                               {5, "s", Text},
                               {6, "ints", Integer, kRepeated},
                               {7, "floats", Real, kRepeated},
                               {8, "strings", Text, kRepeated},
                               {10, "b", Integer},
                               {11, "bools", Integer, kRepeated},
                               {12, "block_idx", Integer},
                               {13, "l", Integer},
                               {14, "blocks_idx", Integer, kRepeated},
                               {15, "longs", Integer, kRepeated},
                               {16, "float64s", Double, kRepeated},
                               {17, "var_name", Text},
                               {18, "vars_name", Text, kRepeated},
                               {19, "float64", Double},
                               {20, "scalar", Message, false, &kScalar},
                               {21, "scalars", Message, kRepeated, &kScalar}},
                              true};
const ProtoMessage kArguments{"Var", {{1, "parameter", Text}, {2, "arguments", Text, kRepeated}}, true};
const ProtoMessage kOp{"OpDesc",
                       {{1, "inputs", Message, kRepeated, &kArguments},
                        {2, "outputs", Message, kRepeated, &kArguments},
                        {3, "type", Text},
                        {4, "attrs", Message, kRepeated, &kAttribute}},
                       true};
const ProtoMessage kBlock{"BlockDesc",
                          {{1, "idx", Integer},
                           {2, "parent_idx", Integer},
                           {3, "vars", Message, kRepeated, &kVar},
                           {4, "ops", Message, kRepeated, &kOp}},
                          true};
const ProtoMessage kProgram{"ProgramDesc",
                            {{1, "blocks", Message, kRepeated, &kBlock},
                             {2, "reserved"},
                             {3, "op_compatible_map"},
                             {4, "version"},
                             {5, "op_versions"}}};

TensorDesc tensor_desc(const Fields& tensor) { return {tensor.integer("data_type", -1), tensor.integers("dims")}; }

VarDesc var_desc(const Fields& var) {
  VarDesc out;
  out.name = var.text("name");
  out.is_persistable = var.flag("persistable", false);
  out.is_fed = var.flag("need_check_feed", false);
  Fields type = var.object("type");
  out.kind = type.integer("type", 0);
  TensorDesc tensor = tensor_desc(type.object("dense").object("tensor"));
  out.element = tensor.element;
  out.shape = std::move(tensor.shape);
  return out;
}

std::vector<Arguments> arguments_of(const Fields& op, std::string_view field) {
  std::vector<Arguments> out;
  for (const Fields& one : messages_of(op, field)) out.push_back({one.text("parameter"), one.texts("arguments")});
  return out;
}

ObjectRef scalar_value(const Fields& scalar) {
  for (const char* field : {"b", "i", "r"})
    if (scalar.has(field)) return scalar.get(field);
  return number_boxes.box_int(0);
}

/// An attribute by its kind, the format's AttrType. Those whose value a variable has are inputs.
void add_attribute(const Fields& given, OpDesc* op) {
  static const char* const kFields[] = {"i",        "f",        "s",         "ints",    "floats",     "strings",
                                        "b",        "bools",    "block_idx", "l",       "blocks_idx", "longs",
                                        "float64s", "var_name", "vars_name", "float64", "scalar",     "scalars"};
  const std::string name = given.text("name");
  const int64_t kind = given.integer("type", -1);
  if (kind < 0 || static_cast<size_t>(kind) >= std::size(kFields)) return;  // of a newer version: it counts as missing
  const std::string field = kFields[kind];
  if (field == "var_name") {
    op->inputs.push_back({name, {given.text("var_name")}});
  } else if (field == "vars_name") {
    op->inputs.push_back({name, given.texts("vars_name")});
  } else if (field == "scalar") {
    op->attributes.set(name, scalar_value(given.object("scalar")));
  } else if (field == "scalars") {
    Array<ObjectRef> values;
    for (const Fields& scalar : messages_of(given, "scalars")) values.push_back(scalar_value(scalar));
    op->attributes.set(name, values);
  } else if (given.has(field)) {
    op->attributes.set(name, given.get(field));
  } else {
    op->attributes.set(name, Array<ObjectRef>());  // a list without elements
  }
}

OpDesc op_desc(const Fields& op) {
  OpDesc out{op.text("type"), arguments_of(op, "inputs"), arguments_of(op, "outputs"), {}};
  for (const Fields& attribute : messages_of(op, "attrs")) add_attribute(attribute, &out);
  return out;
}

}  // namespace

std::vector<BlockDesc> read_blocks(std::string_view protobuf) {
  std::vector<BlockDesc> out;
  for (const Fields& block :
       messages_of(read_protobuf(protobuf, kProgram, {"the file", "program of PaddlePaddle"}), "blocks")) {
    BlockDesc& made = out.emplace_back();
    for (const Fields& var : messages_of(block, "vars")) made.vars.push_back(var_desc(var));
    for (const Fields& op : messages_of(block, "ops")) made.ops.push_back(op_desc(op));
  }
  return out;
}

TensorDesc read_tensor_desc(std::string_view protobuf, const std::string& file) {
  return tensor_desc(read_protobuf(protobuf, kTensor, {file, "file of PaddlePaddle's parameters"}));
}

bool is_program(std::string_view bytes) {
  // A block begins with its own number, which is 0, and that of its parent, which is -1.
  const size_t begin = bytes.substr(0, 12).find(std::string_view("\x08\x00\x10", 3));
  return begin != bytes.npos && bytes[0] == '\x0a' && fits_protobuf(bytes, kProgram);
}

DataType type_of_number(int64_t number) {
  switch (number) {
    case 0: return DataType::Bool();
    case 1: return DataType::Int(16);
    case 2: return DataType::Int(32);
    case 3: return DataType::Int(64);
    case 4: return DataType::Float(16);
    case 5: return DataType::Float(32);
    case 6: return DataType::Float(64);
    case 20: return DataType::UInt(8);
    case 21: return DataType::Int(8);
    case 22: return DataType("bfloat16");
    case 36: return DataType::UInt(16);
    case 37: return DataType::UInt(32);
    case 38: return DataType::UInt(64);
    default:
      throw Error(OpNotImplemented) << "tensors of PaddlePaddle's element type " << number << " are not supported";
  }
}

}  // namespace tessera::paddle
