#pragma once
// From a program of PyTorch to a Relay module.
//
// A converter turns one node into values. It sees the node through an `Operation`: arguments by the names of the operator's schema,
// tensors as typed Relay expressions, numbers as numbers where they are known. Converters are rows of one table, by the operator's
// name without its overload; each family has a file that lists its rows.

#include <functional>
#include <map>
#include <optional>

#include "frontend/common/imported.h"
#include "frontend/common/node_context.h"
#include "frontend/torch/graph.h"
#include "ir/module.h"
#include "runtime/packed_func.h"

namespace tessera::torch {

using namespace frontend;  // NOLINT: what importers share is their language

/// A tensor as what in-place operators change: all who share it see the change, those who look at a part of it too.
struct Cell {
  explicit Cell(Expr now) : now(std::move(now)) {}
  Expr get();
  void set(const Expr& value);

  Expr now;
  int64_t version = 0;
  bool is_copied = false;      // a list of rows has a copy, which would not see a change
  std::shared_ptr<Cell> base;  // of a view
  int64_t seen = 0;            // the version of the base that `now` was made from
  std::function<Expr(const Expr& base)> read;
  std::function<Expr(const Expr& base, const Expr& value)> write;  // null: elements lie over each other
  std::optional<Ints> strides;                                     // of a view, where they are known; views.h
};

/// scale * (integer - zero) along an axis, of a quantised tensor.
struct Quantized {
  Expr scale, zero;
  double scale_value = 0;  // where it is one known number
  int64_t zero_value = 0;
  int axis = -1;  // -1: one scale for all
};

/// Sequences one behind the other, step by step, as packed sequences have them: what they are of.
struct Packed {
  Expr padded;   // (steps, batch, ...)
  Expr lengths;  // (batch,), int64
};

/// What a name stands for. Numbers that a run decides are tensors without dimensions. Rows are the only item of a list whose length
/// a run decides (lists.h). Nobody looks at what is Uninitialized.
struct Value {
  enum Kind { Absent, Tensor, Bool, Int, Float, Text, List, Dict, Rows, Uninitialized } kind = Absent;
  std::shared_ptr<Cell> cell;
  int64_t integer = 0;  // of a known Int or Bool
  double real = 0;
  std::string text;
  std::shared_ptr<std::vector<Value>> items;  // of a Dict: keys and values in turn
  std::shared_ptr<const Quantized> quantized;
  std::shared_ptr<const Packed> packed;  // of the data and the batch sizes of packed sequences
  bool is_complex = false;               // a last dimension has real and imaginary parts
  bool follows_unsupported =
      false;  // while unsupported nodes are collected: it only stands for what a rejected node makes

  Value() = default;
  Value(Expr expr) : kind(Tensor), cell(std::make_shared<Cell>(std::move(expr))) {}
  static Value of(int64_t integer);
  static Value of(bool truth);
  static Value of(double real);
  static Value of(std::string text);
  static Value of(std::vector<Value> items);
  /// A number of that kind which a run decides.
  static Value number(Kind kind, Expr expr);

  bool is_absent() const { return kind == Absent; }
  bool is_tensor() const { return kind == Tensor; }
  bool is_number() const { return kind == Bool || kind == Int || kind == Float; }
  bool is_known_number() const { return is_number() && !cell; }
  double as_real() const { return kind == Float ? real : static_cast<double>(integer); }
  Expr expr() const { return cell ? cell->get() : Expr(); }
};
using Values = std::vector<Value>;

/// The number without what is behind its point; the nearest there is where it is too large, 0 for none.
int64_t whole_part(double real);

/// Tensors, and lists and dictionaries, that were changed, with what they were.
struct Journal {
  std::vector<std::pair<std::shared_ptr<Cell>, Expr>> tensors;
  std::vector<std::pair<std::shared_ptr<Values>, Values>> lists;
};

class Importer;

/// One node as its converter sees it.
class Operation : public NodeContext {
 public:
  using Args = std::vector<std::pair<std::string_view, Value>>;
  Operation(Importer& importer, const Node& node, Args args)
      : importer_(importer), node_(node), args_(std::move(args)) {}

  const Node& node() const { return node_; }
  /// Without namespace: "add" of "aten::add_".
  std::string name() const;
  std::string title() const override;
  Importer& importer() const { return importer_; }
  std::optional<std::pair<Expr, int>> input_of(const PrimExpr& extent) const override;

  // ---- arguments, by name or position -------------------------------------------------------------------------------
  const Args& args() const { return args_; }
  size_t size() const { return args_.size(); }
  bool has(std::string_view name) const { return !value_or_absent(name).is_absent(); }
  bool has(size_t i) const { return i < args_.size() && !args_[i].second.is_absent(); }
  const Value& value(std::string_view name) const;  // an error where it is not given
  const Value& value(size_t i) const;
  const Value& value_or_absent(std::string_view name) const;
  /// A tensor; a number becomes one of its own type.
  Expr operator[](std::string_view name) const { return tensor_of(value(name)); }
  Expr operator[](size_t i) const { return tensor_of(value(i)); }
  Expr get_or(std::string_view name, Expr otherwise) const { return has(name) ? (*this)[name] : std::move(otherwise); }
  int64_t integer(std::string_view name, int64_t otherwise) const;
  int64_t integer(std::string_view name) const;
  double number(std::string_view name, double otherwise) const;
  double number(std::string_view name) const;
  bool flag(std::string_view name, bool otherwise) const { return integer(name, otherwise) != 0; }
  std::string text(std::string_view name, std::string otherwise) const;
  /// Known integers of a list; one number counts as a list.
  Ints integers(std::string_view name, std::vector<int64_t> otherwise = {}) const;
  std::vector<double> numbers(std::string_view name) const;
  /// An element type by its number.
  std::optional<DataType> dtype_given(std::string_view name = "dtype") const;
  using NodeContext::dtype;
  /// The items of a list or tuple.
  const std::vector<Value>& items(std::string_view name) const;
  const std::vector<Value>& items_of(const Value& value, const char* what) const;
  std::vector<Expr> tensors(std::string_view name) const;

  // ---- values -------------------------------------------------------------------------------------------------------
  Expr tensor_of(const Value& value) const;
  std::optional<int64_t> known_int(const Value& value) const;
  int64_t int_of(const Value& value, const std::string& what) const;
  double real_of(const Value& value, const std::string& what) const;
  /// A number of type int64 or float64 without dimensions.
  Expr number_expr(const Value& value) const;
  /// Integers of a list as one tensor, as shapes are given; constants where they are known.
  Expr int_vector(const Value& list) const;
  /// An axis argument, counted from the front; of a tensor without dimensions 0 and -1 are axes too.
  int axis_of(int64_t given, size_t rank) const;
  Ints axes_of(std::string_view name, size_t rank) const;  // absent or empty: all
  DataType default_dtype() const;

  /// Values of a graph inside this node, whose names see the outer ones.
  Values import(const Graph& graph, const Values& inputs) const;

 private:
  Importer& importer_;
  const Node& node_;
  Args args_;
};

using Converter = std::function<Values(Operation&)>;
struct Row {
  const char* op;
  Converter convert;
};
using Rows = std::vector<Row>;

/// Every family of operators adds its rows.
Rows activation_rows();
Rows attention_rows();
Rows complex_rows();
Rows conv_rows();
Rows control_rows();
Rows create_rows();
Rows elementwise_rows();
Rows index_rows();
Rows linear_rows();
Rows list_rows();
Rows loss_rows();
Rows normalization_rows();
Rows number_rows();
Rows packed_rows();
Rows pad_rows();
Rows pool_rows();
Rows quantized_rows();
Rows recurrent_rows();
Rows reduction_rows();
Rows resize_rows();
Rows scatter_rows();
Rows shape_rows();
Rows signal_rows();
Rows slice_rows();
Rows sort_rows();
Rows strided_rows();
Rows transformer_rows();
Rows vision_rows();

/// The converter of an operator, in-place forms by the plain one's; null where there is none.
Converter find_converter(const std::string& op);

struct ImportOptions {
  DataType default_dtype = DataType::Float(32);
  std::unordered_map<std::string, PackedFunc> custom;  // converters of the caller: (values, types) -> value
  int64_t most_nodes = 1'000'000;                      // with loops written out; more is an error
  bool keep_quantized_weight = false;
};

/// All operators that no converter takes are listed in one error.
Imported import_program(const Program& program, const ImportOptions& options);

Survey survey_program(const Program& program, const ImportOptions& options);

}  // namespace tessera::torch
