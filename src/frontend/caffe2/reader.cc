#include <algorithm>
#include <cstring>

#include "frontend/caffe2/caffe2.h"
#include "frontend/graph/companion.h"
#include "frontend/graph/value_names.h"
#include "runtime/archive/files.h"
#include "runtime/function/element.h"

namespace tessera::caffe2 {
namespace {

using enum Proto;
constexpr bool kRepeated = true;
constexpr size_t kLooked = 1 << 16;
constexpr int64_t kMaxSize = int64_t{1} << 31;

const ProtoMessage kArgument{"Argument",
                             {{1, "name", Text},
                              {2, "f", Real},
                              {3, "i", Integer},
                              {4, "s", Text},
                              {5, "floats", Floats},
                              {6, "ints", Integer, kRepeated},
                              {7, "strings", Text, kRepeated},
                              {8, "n"},
                              {9, "nets"},
                              {10, "tensors"},
                              {11, "qtensors"}}};
const ProtoMessage kOperator{"OperatorDef",
                             {{1, "input", Text, kRepeated},
                              {2, "output", Text, kRepeated},
                              {3, "name", Text},
                              {4, "type", Text},
                              {5, "arg", Message, kRepeated, &kArgument},
                              {6, "device_option"},
                              {7, "engine", Text},
                              {8, "control_input"},
                              {9, "is_gradient_op"},
                              {10, "debug_info"},
                              {11, "domain"},
                              {12, "op_version"}}};
const ProtoMessage kNet{"NetDef",
                        {{1, "name", Text},
                         {2, "op", Message, kRepeated, &kOperator},
                         {3, "type", Text},
                         {4, "num_workers", Integer},
                         {5, "device_option"},
                         {6, "arg", Message, kRepeated, &kArgument},
                         {7, "external_input", Text, kRepeated},
                         {8, "external_output", Text, kRepeated},
                         {9, "partition_info"}}};

bool is_text(std::string_view bytes) {
  const std::string_view begin = bytes.substr(0, kLooked);
  return begin.find('\0') == begin.npos && (begin.find("op {") != begin.npos || begin.find("op{") != begin.npos) &&
         begin.find("type:") != begin.npos;
}

Fields net_of(std::string_view bytes, const std::string& name) {
  const ProtoSource source{name, "network of Caffe2"};
  return is_text(bytes) ? read_protobuf_text(bytes, kNet, source) : read_protobuf(bytes, kNet, source);
}

/// The arguments of an operator by name; the numbers of `values` stay together, as the tensor that they are.
Fields arguments_of(const Fields& op) {
  Fields out(Map<String, ObjectRef>(), op.text("type"));
  for (const Fields& argument : messages_of(op, "arg")) {
    const std::string name = argument.text("name");
    ObjectRef value = Array<ObjectRef>();  // a list without elements
    for (const char* kind : {"f", "i", "s", "ints", "strings"})
      if (argument.has(kind)) value = argument.get(kind);
    if (NDArray floats = numbers_array(argument, "floats")) {
      Array<ObjectRef> items;
      if (name != "values")
        for (int64_t i = 0; i < floats.size(); ++i) items.push_back(number_boxes.box_float(floats.data<float>()[i]));
      value = name == "values" ? ObjectRef(floats) : ObjectRef(items);
    }
    out.set(name, value);
  }
  return out;
}

/// Operators that make a tensor of what stands in the file, and its element type (void: an argument says it).
const std::unordered_map<std::string, DataType>& fills() {
  static const std::unordered_map<std::string, DataType> types{{"ConstantFill", DataType::Void()},
                                                               {"GivenTensorBoolFill", DataType::Bool()},
                                                               {"GivenTensorDoubleFill", DataType::Float(64)},
                                                               {"GivenTensorFill", DataType::Float(32)},
                                                               {"GivenTensorInt64Fill", DataType::Int(64)},
                                                               {"GivenTensorIntFill", DataType::Int(32)}};
  return types;
}

DataType dtype_of(int64_t number) {
  switch (number) {
    case 1: return DataType::Float(32);
    case 2: return DataType::Int(32);
    case 5: return DataType::Bool();
    case 10: return DataType::Int(64);
    default: throw Error(OpNotImplemented) << "ConstantFill: tensors of Caffe2's element type " << number;
  }
}

NDArray filled_tensor(const std::string& type, const Fields& arguments, const std::string& owner) {
  DataType dtype = fills().at(type);
  const NDArray floats = downcast_or_null<NDArray>(arguments.get("values"));
  Ints given, shape = arguments.integers("shape");
  const bool is_constant = type == "ConstantFill";
  if (is_constant) dtype = dtype_of(arguments.integer("dtype", 1));
  else if (!floats) given = arguments.integers("values");
  const int64_t count = floats ? floats.size() : static_cast<int64_t>(given.size());
  if (!is_constant && !arguments.has("shape")) shape = {count};
  int64_t wanted = 1;
  for (int64_t extent : shape) {
    if (extent < 0 || (extent && wanted > kMaxSize / extent))
      throw Error(ValueError) << "the tensor " << owner << " has an impossible shape";
    wanted *= extent;
  }
  if (!is_constant && wanted != count)
    throw Error(ValueError) << "the tensor " << owner << " has " << count << " values; its shape says " << wanted;
  if (floats && dtype == DataType::Float(32)) return floats.view(shape, dtype);
  NDArray out = NDArray::empty(shape, dtype);
  const auto step = static_cast<size_t>(dtype.bytes());
  char* at = out.data<char>();
  for (int64_t i = 0; i < wanted; ++i, at += step) {
    const double value = is_constant ? arguments.number("value", 0) : floats ? floats.data<float>()[i] : 0;
    if (dtype.is_floating()) write_float(dtype, value, at);
    else write_int(dtype, given.empty() ? static_cast<int64_t>(value) : given[static_cast<size_t>(i)], at);
  }
  return out;
}

class NetReader {
 public:
  GraphModel read(const Fields& init, const Fields& predict) {
    out_.framework = "Caffe2";
    for (const Fields& op : messages_of(init, "op")) fill_or_node(op, true);
    const std::vector<Fields> ops = messages_of(predict, "op");
    for (const Fields& op : ops)
      if (!fills().count(op.text("type")))
        for (const std::string& output : op.texts("output")) names_.will_be_written(output);
    for (const std::string& name : predict.texts("external_input")) add_input(name);
    for (const Fields& op : ops) fill_or_node(op, false);
    for (const std::string& name : predict.texts("external_output"))
      out_.outputs.push_back(names_.has(name) ? names_.read(name) : name);
    if (out_.outputs.empty()) out_.outputs = names_.unread();
    return std::move(out_);
  }

 private:
  void add_input(const std::string& name) {
    if (names_.has(name) || out_.params.count(name)) return;
    GraphInput input;
    input.name = name;
    input.has_shape = false;
    names_.add_input(name);
    out_.inputs.push_back(std::move(input));
  }

  void fill_or_node(const Fields& op, bool is_init) {
    const std::string type = op.text("type");
    const std::vector<std::string> outputs = op.texts("output");
    const Fields arguments = arguments_of(op);
    if (fills().count(type) && !arguments.flag("input_as_shape", false) && outputs.size() == 1) {
      out_.params.insert_or_assign(outputs[0], filled_tensor(type, arguments, outputs[0]));
      return;
    }
    GraphNode node;
    node.op = type, node.name = op.text("name", outputs.empty() ? "" : outputs[0]), node.attributes = arguments;
    if (is_init)
      throw Error(OpNotImplemented) << "the tensor " << node.name << " is made by " << type
                                    << ", which no network that fills tensors may have here";
    for (const std::string& name : op.texts("input")) {
      if (!out_.params.count(name)) add_input(name);  // one that is read and made nowhere
      node.inputs.push_back(names_.has(name) ? names_.read(name) : name);
    }
    for (const std::string& name : outputs) node.outputs.push_back(names_.write(name));
    out_.nodes.push_back(std::move(node));
  }

  ValueNames names_;
  GraphModel out_;
};

bool is_init(const std::string& path) { return stem_of(path).find("init") != std::string::npos; }

}  // namespace

bool is_net(std::string_view bytes) {
  if (is_text(bytes)) return bytes.substr(0, kLooked).find("external_") != bytes.npos;
  constexpr char kName = 0x0a, kOp = 0x12;  // what a network begins with
  return !bytes.empty() && (bytes[0] == kName || bytes[0] == kOp) && fits_protobuf(bytes, kNet);
}

GraphModel read_nets(std::string_view init, std::string_view predict, const std::string& name) {
  const Fields net = net_of(predict, name);
  if (!net.has("op")) throw Error(ValueError) << name << ": this network of Caffe2 has no operators";
  return NetReader().read(net_of(init, name), net);
}

GraphModel read_files(const std::string& path) {
  const bool named_init = is_init(path);
  const std::string from = named_init ? "init" : "predict", to = named_init ? "predict" : "init";
  std::vector<std::string> names;
  for (const char* suffix : {".pb", ".pbtxt"}) {
    std::string name = stem_of(path) + suffix;
    if (const size_t at = name.find(from); at != name.npos) names.push_back(name.replace(at, from.size(), to));
    if (std::string usual = to + "_net" + suffix; names.empty() || names.back() != usual) names.push_back(usual);
  }
  const std::string other = companion_of(
      path, names, {}, named_init ? "the network that computes" : "the network that fills tensors with the weights");
  MappedFile given(path, "the network"), second(other, "the network");
  return named_init ? read_nets(given.bytes(), second.bytes(), other) : read_nets(second.bytes(), given.bytes(), path);
}

const LayerTable& converters() {
  static const LayerTable table = table_of({layer_rows, window_rows});
  return table;
}

}  // namespace tessera::caffe2
