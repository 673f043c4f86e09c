// Loads and stores. Neighbouring elements are moved at once where the dialect can; any other vector goes lane by lane.

#include <numeric>

#include "codegen/source/printer.h"

namespace tessera::codegen {
namespace {

constexpr int64_t kEnough = 1 << 20;  // no vector has more lanes

/// A number that `e` is certainly a multiple of; 0 for the constant 0.
int64_t known_multiple(const PrimExpr& e) {
  if (const int64_t* value = as_int(e)) return std::gcd(*value % kEnough, *value ? kEnough : 0);
  if (auto* mul = e.as<Mul>())
    return std::min(kEnough, known_multiple(mul->a)) * std::min(kEnough, known_multiple(mul->b));
  if (auto* add = e.as<Add>()) return std::gcd(known_multiple(add->a), known_multiple(add->b));
  if (auto* sub = e.as<Sub>()) return std::gcd(known_multiple(sub->a), known_multiple(sub->b));
  if (auto* cast = e.as<Cast>()) return known_multiple(cast->value);
  auto* call = e.as<Call>();
  if (builtin::is(call, builtin::shift_left()))
    if (const int64_t* by = as_int(call->args[1]); by && *by >= 0 && *by < 20) return int64_t{1} << *by;
  if (builtin::is(call, builtin::bitwise_and()) || builtin::is(call, builtin::bitwise_or())) {
    int64_t a = known_multiple(call->args[0]), b = known_multiple(call->args[1]);
    auto power = [](int64_t n) { return n & -n; };
    return builtin::is(call, builtin::bitwise_or()) ? std::gcd(power(a), power(b)) : std::max(power(a), power(b));
  }
  return 1;
}

}  // namespace

bool SourcePrinter::is_multiple_of(const PrimExpr& first, int lanes) { return known_multiple(first) % lanes == 0; }

std::string SourcePrinter::pointer_to(const std::string& element, const std::string&) { return element + "*"; }

std::string SourcePrinter::from_memory(const std::string& element, DataType dtype) {
  if (dtype.is_bool()) return "(" + element + " != 0)";
  if (dtype.is_integral() && dtype.bits < 8) return narrowed(element, dtype);
  return element;
}

std::string SourcePrinter::to_memory(const std::string& value, DataType) { return value; }

std::string SourcePrinter::load_element(const std::string& pointer, const std::string& index, DataType dtype) {
  return from_memory(pointer + "[" + index + "]", dtype);
}

void SourcePrinter::store_element(const std::string& pointer, const std::string& index, const std::string& value,
                                  DataType dtype) {
  line(pointer + "[" + index + "] = " + to_memory(value, dtype) + ";");
}

std::string SourcePrinter::scope_of(const VarNode* data) const {
  if (auto it = memory_.find(data); it != memory_.end()) return it->second.scope;
  auto* type = data->type_annotation.as<PointerType>();
  return type && !type->storage_scope.empty() ? type->storage_scope.str() : "global";
}

std::string SourcePrinter::pointer(const VarNode* data, DataType element) {
  std::string name = visit(data)[0], wanted = memory_type(element.element());
  bool is_volatile = volatile_.count(data) > 0;
  auto it = memory_.find(data);
  if (it != memory_.end() && it->second.element == wanted && !is_volatile) return name;
  return "((" + pointer_to((is_volatile ? "volatile " : "") + wanted, scope_of(data)) + ")" + name + ")";
}

Lanes SourcePrinter::load(const Buffer& buffer, const PrimExpr& at, DataType dtype) {
  DataType element = buffer->dtype;
  if (dtype.element() != element.element() || dtype.lanes != element.lanes * at.dtype().lanes)
    throw Error(TypeError) << "buffer " << buffer->name << " of " << element << " is read as " << dtype
                           << " with an index of " << at.dtype().lanes << " lanes";
  std::string base = pointer(buffer->data.get(), element);
  auto* ramp = at.as<Ramp>();
  bool is_contiguous = ramp && is_const_int(ramp->stride, 1) && ramp->base.dtype().lanes == 1;
  PrimExpr first = is_contiguous ? ramp->base : at.dtype().lanes == 1 ? at : PrimExpr(nullptr);
  if (element.lanes > 1 && first) first = first * make_const(first.dtype(), element.lanes);
  if (dtype.lanes == 1) return {load_element(base, index(at), dtype)};
  if (first && has_vector_access(dtype, buffer, first)) return load_vector(base, index(first), dtype);
  if (auto* same = at.as<Broadcast>(); same && same->value.dtype().lanes == 1 && element.lanes == 1)
    return Lanes(dtype.lanes, atom(load_element(base, index(same->value), element), element));

  bool was = std::exchange(in_index_, true);
  Lanes indices = emit(at), out;
  in_index_ = was;
  for (const std::string& each : indices)
    for (int part = 0; part < element.lanes; ++part) {
      std::string index =
          element.lanes == 1 ? each : each + " * " + std::to_string(element.lanes) + " + " + std::to_string(part);
      out.push_back(load_element(base, index, element.element()));
    }
  return out;
}

/// Where two lanes write the same element the higher lane stays.
void SourcePrinter::store(const Buffer& buffer, const PrimExpr& at, const Lanes& value, DataType dtype) {
  DataType element = buffer->dtype;
  if (dtype.element() != element.element() || dtype.lanes != element.lanes * at.dtype().lanes)
    throw Error(TypeError) << "buffer " << buffer->name << " of " << element << " is given " << dtype
                           << " at an index of " << at.dtype().lanes << " lanes";
  std::string base = pointer(buffer->data.get(), element);
  if (dtype.lanes == 1) return store_element(base, index(at), value[0], dtype);
  auto* ramp = at.as<Ramp>();
  bool is_contiguous = ramp && is_const_int(ramp->stride, 1) && ramp->base.dtype().lanes == 1;
  PrimExpr first = is_contiguous ? ramp->base : at.dtype().lanes == 1 ? at : PrimExpr(nullptr);
  if (element.lanes > 1 && first) first = first * make_const(first.dtype(), element.lanes);
  if (first && has_vector_access(dtype, buffer, first)) return store_vector(base, index(first), value, dtype);

  // All lanes are read before the first is written.
  Lanes held;
  for (const std::string& lane : value) held.push_back(atom(lane, dtype.element()));
  bool was = std::exchange(in_index_, true);
  Lanes indices = emit(at);
  in_index_ = was;
  for (size_t i = 0; i < held.size(); ++i) {
    size_t lanes = static_cast<size_t>(element.lanes);
    std::string index = indices[i / lanes];
    if (lanes > 1) index += " * " + std::to_string(lanes) + " + " + std::to_string(i % lanes);
    store_element(base, index, held[i], dtype.element());
  }
}

Lanes SourcePrinter::address_of(const Call* op) {
  auto* load = op->args[0].as<BufferLoad>();
  if (!load || load->indices.size() != 1)
    throw Error(TypeError) << "address_of takes an element of a flat buffer, not " << op->args[0];
  PrimExpr at = load->indices[0];
  if (auto* ramp = at.as<Ramp>()) at = ramp->base;
  std::string offset = index(at);
  if (load->buffer->dtype.lanes > 1) offset = "(" + offset + ") * " + std::to_string(load->buffer->dtype.lanes);
  return {"(" + pointer(load->buffer->data.get(), load->buffer->dtype) + " + " + offset + ")"};
}

}  // namespace tessera::codegen
