// Expressions other than arithmetic and calls, and the table that finds the right function for a node.

#include <charconv>
#include <cmath>

#include "base/stack.h"
#include "codegen/dispatch.h"
#include "codegen/source/printer.h"

namespace tessera::codegen {
namespace {

/// A text longer than this is given a name, so that a long chain is not one line.
constexpr size_t kMaxLength = 400;
/// A part that may occur again is given a name when it is longer than this.
constexpr size_t kWorthSharing = 48;

}  // namespace

Lanes SourcePrinter::dispatch(const PrimExprNode* e) {
  return visit_lowered<Lanes>(LoweredExpressions(), e, "source", [this](const auto* node) { return visit(node); });
}

Lanes SourcePrinter::emit(const PrimExpr& e) {
  ICHECK(e.defined()) << "an expression is missing";
  auto& known = known_[in_index_];
  bool may_recur = e->use_count() > 1 && !e.as<VarNode>();
  if (may_recur)
    if (auto it = known.find(e.get()); it != known.end()) return it->second.lanes;
  size_t written = out_.size();
  Lanes out = on_enough_stack([&] { return dispatch(e.get()); });
  if (e.dtype().is_void() || e.dtype().is_handle()) return out;
  bool named = out_.size() != written;  // parts have names already, which another occurrence may use
  for (std::string& lane : out) {
    bool is_long = lane.size() > (may_recur ? kWorthSharing : kMaxLength);
    if (is_long) lane = declare_temporary(e.dtype().element(), lane);
    named |= is_long;
  }
  if (may_recur && named && side_effect(e) <= CallEffect::ReadState) known_[in_index_][e.get()] = {e, out};
  return out;
}

std::string SourcePrinter::text(const PrimExpr& e) {
  if (e.dtype().lanes > 1)
    throw Error(TypeError) << "one value is wanted, but there is a vector of " << e.dtype().lanes << " lanes: " << e;
  return emit(e)[0];
}

std::string SourcePrinter::condition(const PrimExpr& e) {
  bool was = std::exchange(in_index_, in_index_ || !reads_data(e));  // a guard of indices
  std::string out = cast_scalar(text(e), e.dtype(), DataType::Bool());
  in_index_ = was;
  return out;
}

std::string SourcePrinter::index(const PrimExpr& e) {
  bool was = std::exchange(in_index_, true);
  std::string out = text(e);
  in_index_ = was;
  return out;
}

std::string SourcePrinter::declare_temporary(DataType dtype, const std::string& value) {
  std::string name = fresh_name("t");
  line(value_type(dtype) + " " + name + " = " + value + ";");
  return name;
}

std::string SourcePrinter::atom(const std::string& value, DataType dtype) {
  return is_atom(value) ? value : declare_temporary(dtype, value);
}

Lanes SourcePrinter::visit(const VarNode* op) {
  auto it = names_.find(op);
  if (it == names_.end()) throw Error(ValueError) << "variable " << op->name << " is used where it has no value";
  if (op->dtype.lanes <= 1) return {it->second};
  Lanes out;  // a vector variable is an array of its lanes
  for (int lane = 0; lane < op->dtype.lanes; ++lane) out.push_back(it->second + "_" + std::to_string(lane));
  return out;
}

std::string SourcePrinter::int_constant(DataType dtype, int64_t value) {
  if (dtype.is_bool()) return value ? "true" : "false";
  if (dtype.is_handle()) return "((void*)" + std::to_string(value) + ")";
  if (dtype.is_uint() && dtype.bits <= 32) return std::to_string(static_cast<uint64_t>(value)) + "u";
  if (dtype.is_uint()) return std::to_string(static_cast<uint64_t>(value)) + "U" + suffix_of_long();
  std::string suffix = dtype.bits > 32 ? suffix_of_long() : "";
  bool is_least = value == INT64_MIN || (dtype.bits == 32 && value == INT32_MIN);
  if (is_least) return "(" + std::to_string(value + 1) + suffix + " - 1)";
  return value < 0 ? "(" + std::to_string(value) + suffix + ")" : std::to_string(value) + suffix;
}

Lanes SourcePrinter::visit(const IntImm* op) { return {int_constant(op->dtype, op->value)}; }

std::string SourcePrinter::constant(const FloatImm* op) {
  bool is_double = op->dtype.bits == 64;
  if (std::isinf(op->value) || std::isnan(op->value)) {
    std::string out = std::isnan(op->value) ? "NAN" : op->value < 0 ? "(-INFINITY)" : "INFINITY";
    return is_double ? "((double)" + out + ")" : out;
  }
  char buffer[64];
  auto end = is_double ? std::to_chars(buffer, buffer + sizeof buffer, op->value).ptr
                       : std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(op->value)).ptr;
  std::string out(buffer, end);
  if (out.find_first_of(".e") == out.npos) out += ".0";
  if (!is_double) out += "f";
  return std::signbit(op->value) ? "(" + out + ")" : out;
}

Lanes SourcePrinter::visit(const FloatImm* op) { return {constant(op)}; }

Lanes SourcePrinter::visit(const StringImm* op) { return {quoted(op->value.str())}; }

Lanes SourcePrinter::visit(const Cast* op) {
  DataType from = op->value.dtype(), to = op->dtype;
  Lanes out = emit(op->value);
  if (from.lanes != to.lanes) {
    if (from.lanes != 1) throw Error(TypeError) << "cast of " << from << " to " << to << " changes the number of lanes";
    return Lanes(to.lanes, atom(cast_scalar(out[0], from, to.element()), to.element()));
  }
  for (std::string& lane : out) lane = cast_scalar(lane, from.element(), to.element());
  return out;
}

Lanes SourcePrinter::visit(const Not* op) {
  Lanes out = emit(op->a);
  for (std::string& lane : out) lane = "(!" + lane + ")";
  return out;
}

Lanes SourcePrinter::visit(const Select* op) {
  Lanes holds = emit(op->condition), out = emit(op->true_value), otherwise = emit(op->false_value);
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = "(" + holds[holds.size() == 1 ? 0 : i] + " ? " + out[i] + " : " + otherwise[i] + ")";
  return out;
}

Lanes SourcePrinter::visit(const Ramp* op) {
  if (op->base.dtype().lanes != 1)
    throw Error(NotImplementedError) << "a Ramp whose base is a vector is not supported: " << PrimExpr(op);
  DataType dtype = op->dtype.element();
  std::string base = atom(text(op->base), dtype);
  const int64_t* step = as_int(op->stride);
  std::string stride = step ? "" : atom(text(op->stride), dtype);
  Lanes out;
  for (int lane = 0; lane < op->lanes; ++lane) {
    std::string offset =
        step ? int_constant(dtype, *step * lane) : binary(&Mul::info, dtype, stride, int_constant(dtype, lane));
    out.push_back(lane == 0 ? base : binary(&Add::info, dtype, base, offset));
  }
  return out;
}

Lanes SourcePrinter::visit(const Broadcast* op) {
  Lanes value = emit(op->value), out;
  for (std::string& lane : value) lane = atom(lane, op->dtype.element());
  for (int i = 0; i < op->lanes; ++i) out.insert(out.end(), value.begin(), value.end());
  return out;
}

Lanes SourcePrinter::visit(const Shuffle* op) {
  Lanes lanes, out;
  for (const PrimExpr& vector : op->vectors)
    for (const std::string& lane : emit(vector)) lanes.push_back(atom(lane, vector.dtype().element()));
  for (const PrimExpr& picked : op->indices) {
    const int64_t* at = as_int(picked);
    if (!at || *at < 0 || *at >= static_cast<int64_t>(lanes.size()))
      throw Error(ValueError) << "a Shuffle picks lane " << picked << " of " << lanes.size()
                              << "; lanes are picked by constants in range";
    out.push_back(lanes[static_cast<size_t>(*at)]);
  }
  return out;
}

Lanes SourcePrinter::visit(const Let* op) {
  bool was = std::exchange(in_index_, false);
  Lanes value = emit(op->value);
  in_index_ = was;
  DataType element = op->value.dtype().element();
  if (names_.count(op->var.get()))  // what was written with the old value is void
    for (auto& known : known_) known.clear();
  std::string name = define(op->var.get());
  for (size_t i = 0; i < value.size(); ++i)
    line(value_type(element) + " " + name + (value.size() > 1 ? "_" + std::to_string(i) : "") + " = " + value[i] + ";");
  return emit(op->body);
}

Lanes SourcePrinter::visit(const BufferLoad* op) {
  if (op->indices.size() != 1)
    throw Error(ValueError) << "buffer " << op->buffer->name << " is read with " << op->indices.size()
                            << " indices; buffers are flat when code is generated";
  return load(op->buffer, op->indices[0], op->dtype);
}

}  // namespace tessera::codegen
