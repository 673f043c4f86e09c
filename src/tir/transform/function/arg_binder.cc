#include "tir/transform/function/arg_binder.h"

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "tir/attrs.h"
#include "tir/flat_buffer.h"

namespace tessera {
namespace {

const DataType kShapeType = DataType::Int(64);

Buffer int64_buffer(const std::string& name, int64_t length) {
  return decl_buffer({int_imm(DataType::Int(32), length)}, kShapeType, name);
}

PrimExpr load_as(const Buffer& buffer, size_t i, DataType dtype) {
  return cast(dtype, make_load(buffer, {int_imm(DataType::Int(32), static_cast<int64_t>(i))}));
}

/// `wanted` with known variables replaced, to compare by.
PrimExpr known(const PrimExpr& wanted, const std::unordered_map<const VarNode*, PrimExpr>& defs) {
  return wanted.as<VarNode>() && defs.count(wanted.as<VarNode>()) ? defs.at(wanted.as<VarNode>()) : wanted;
}

}  // namespace

Stmt let(const Var& var, const PrimExpr& value) {
  return make(LetStmt{.var = var, .value = value, .body = make_nop()});
}

PrimExpr struct_get(DataType dtype, const PrimExpr& handle, int index, StructField field) {
  return make_call(dtype, "tir.tvm_struct_get", {handle, index, static_cast<int>(field)});
}

Stmt struct_set(const PrimExpr& handle, int index, StructField field, const PrimExpr& value) {
  return evaluate(make_call(DataType::Int(32), "tir.tvm_struct_set", {handle, index, static_cast<int>(field), value}));
}

void ArgBinder::require(const PrimExpr& condition, const std::string& message, bool first) {
  PrimExpr simple = arith::Analyzer().simplify(condition);
  if (is_zero(simple)) throw Error(ValueError) << "this can never hold: " << message << " (" << condition << ")";
  if (is_one(simple)) return;
  (first ? inits_ : asserts_)
      .push_back(make(AssertStmt{.condition = condition, .message = string_imm(message), .body = make_nop()}));
}

void ArgBinder::bind_equal(const PrimExpr& wanted, const PrimExpr& value, const std::string& name) {
  PrimExpr condition = equal(known(wanted, *defs_), value);
  require(condition, "Argument " + name + " has an unsatisfied constraint: " + to_text(condition));
}

void ArgBinder::bind(const PrimExpr& wanted, const PrimExpr& value, const std::string& name, bool with_let) {
  Var var = downcast_or_null<Var>(wanted);
  PrimExpr given = wanted.dtype() == value.dtype() ? value : cast(wanted.dtype(), value);
  if (!var || defs_->count(var.get())) return bind_equal(wanted, given, name);
  defined_.push_back(var);
  if (with_let) {
    (*defs_)[var.get()] = var;
    inits_.push_back(let(var, given));
  } else {
    (*defs_)[var.get()] = given;
  }
}

void ArgBinder::bind(const Array<PrimExpr>& wanted, const Array<PrimExpr>& values, const std::string& name,
                     bool with_let) {
  if (wanted.size() != values.size())
    throw Error(ValueError) << name << ": " << wanted.size() << " dimensions are wanted, " << values.size() << " given";
  for (size_t i = 0; i < wanted.size(); ++i) bind(wanted[i], values[i], name + "." + std::to_string(i), with_let);
}

void ArgBinder::bind_buffer(const Buffer& view, const Buffer& source, const std::string& name, bool fuzzy) {
  if (view->scope() != source->scope())
    throw Error(ValueError) << name << " is a buffer in " << view->scope() << " memory, but what it stands for lies in "
                            << source->scope();
  if (view->dtype != source->dtype)
    throw Error(TypeError) << name << " is a buffer of " << view->dtype << ", but what it stands for is "
                           << source->dtype;
  bind(view->data, source->data, name + ".data", false);
  size_t extra = source->shape.size() - view->shape.size();
  if (source->shape.size() < view->shape.size() || (extra && !fuzzy))
    throw Error(ValueError) << name << " has " << view->shape.size() << " dimensions, but what it stands for has "
                            << source->shape.size();
  arith::Analyzer analyzer;
  for (size_t i = 0; i < extra; ++i)
    if (!is_one(analyzer.simplify(source->shape[i])))
      throw Error(ValueError) << name << " has " << view->shape.size() << " dimensions; dimension " << i
                              << " of what it stands for is not 1 but " << source->shape[i];
  for (size_t i = 0; i < view->shape.size(); ++i)
    bind(view->shape[i], source->shape[i + extra], name + ".shape[" + std::to_string(i) + "]", false);
  if (!view->strides.empty()) {
    Array<PrimExpr> strides = source->strides.empty() ? compact_strides(source->shape) : source->strides;
    for (size_t i = 0; i < view->strides.size(); ++i)
      bind(view->strides[i], analyzer.simplify(strides[i + extra]), name + ".strides[" + std::to_string(i) + "]",
           false);
  }
  PrimExpr offset = source->elem_offset ? source->elem_offset : make_zero(source->index_dtype());
  bind(view->elem_offset, analyzer.simplify(offset), name + ".elem_offset", false);
  if (view->offset_factor > 1)
    require(equal(floormod(offset, make_const(offset.dtype(), view->offset_factor)), make_zero(offset.dtype())),
            name + ".elem_offset should be a multiple of " + std::to_string(view->offset_factor));
}

void ArgBinder::bind_shape(const Buffer& buffer, const Var& handle, const std::string& name) {
  Buffer shape = int64_buffer(name + ".shape", static_cast<int64_t>(buffer->shape.size()));
  inits_.push_back(let(shape->data, struct_get(DataType::Handle(), handle, 0, StructField::Shape)));
  for (size_t i = 0; i < buffer->shape.size(); ++i)
    bind(buffer->shape[i], load_as(shape, i, buffer->shape[i].dtype()), name + ".shape[" + std::to_string(i) + "]",
         true);
}

void ArgBinder::bind_strides(const Buffer& buffer, const Var& handle, const std::string& name) {
  size_t ndim = buffer->shape.size();
  Buffer strides = int64_buffer(name + ".strides", static_cast<int64_t>(buffer->strides.size()));
  inits_.push_back(let(strides->data, struct_get(DataType::Handle(), handle, 0, StructField::Strides)));
  PrimExpr is_null = make_call(DataType::Bool(), "tir.isnullptr", {strides->data});
  if (buffer->strides.empty()) {
    // A compact buffer: no strides, or those of row-major order. A dimension of length one may have any stride.
    PrimExpr is_compact, expected = make_const(buffer->index_dtype(), 1);
    for (size_t axis = ndim; axis-- > 0;) {
      PrimExpr here = equal(expected, load_as(strides, axis, expected.dtype()));
      if (!is_const_int(buffer->shape[axis], 1)) is_compact = is_compact ? logical_and(is_compact, here) : here;
      expected = expected * buffer->shape[axis];
    }
    if (!is_compact) return;
    Stmt check = make(AssertStmt{.condition = is_compact,
                                 .message = string_imm(name + ".strides: expected to be compact array"),
                                 .body = make_nop()});
    asserts_.push_back(make(IfThenElse{.condition = logical_not(is_null), .then_case = check}));
    return;
  }
  PrimExpr compact = make_const(buffer->index_dtype(), 1);
  for (size_t axis = ndim; axis-- > 0;) {
    DataType dtype = buffer->strides[axis].dtype();
    PrimExpr given = load_as(strides, axis, dtype);
    PrimExpr value = if_then_else(is_null, cast(dtype, compact), given);
    if (buffer->buffer_type == BufferType::AutoBroadcast)  // a dimension of length one is read again and again
      value =
          if_then_else(equal(buffer->shape[axis], make_const(buffer->shape[axis].dtype(), 1)), make_zero(dtype), value);
    bind(buffer->strides[axis], value, name + ".strides[" + std::to_string(axis) + "]", true);
    compact = compact * buffer->shape[axis];
  }
}

void ArgBinder::bind_dltensor(const Buffer& buffer, const PrimExpr& device_type, const PrimExpr& device_id,
                              const Var& handle, const std::string& name) {
  const DataType dtype = buffer->dtype;
  size_t ndim = buffer->shape.size();
  PrimExpr wanted_ndim = int_imm(DataType::Int(32), static_cast<int64_t>(ndim));
  require(equal(wanted_ndim, struct_get(DataType::Int(32), handle, 0, StructField::NDim)),
          name + ".ndim is expected to equal " + std::to_string(ndim), true);

  auto type_part = [&](StructField field, int bits, int value) {
    return equal(struct_get(DataType::UInt(bits), handle, 0, field), int_imm(DataType::UInt(bits), value));
  };
  bool is_opaque = dtype == DataType::Int(1) || dtype == DataType::Int(4) || dtype == DataType::UInt(4);
  if (!is_opaque)
    require(logical_and(logical_and(type_part(StructField::TypeCode, 8, dtype.code),
                                    type_part(StructField::TypeBits, 8, dtype.bits)),
                        type_part(StructField::TypeLanes, 16, dtype.lanes)),
            name + ".dtype is expected to be " + dtype.str(), true);

  bind(buffer->data, struct_get(DataType::Handle(), handle, 0, StructField::Data), name + ".data", true);
  bind_shape(buffer, handle, name);
  bind_strides(buffer, handle, name);

  // The offset is in bytes there and in elements here.
  PrimExpr byte_offset = struct_get(DataType::UInt(64), handle, 0, StructField::ByteOffset);
  int element_bytes = dtype.bytes() * dtype.lanes;
  if (is_const(buffer->elem_offset)) {
    bind(make_const(DataType::UInt(64), *as_int(buffer->elem_offset) * element_bytes), byte_offset,
         name + ".byte_offset", true);
  } else {
    PrimExpr offset = cast(buffer->elem_offset.dtype(), byte_offset);
    bind(buffer->elem_offset, truncdiv(offset, make_const(offset.dtype(), element_bytes)), name + ".elem_offset", true);
    if (buffer->offset_factor > 1) {
      PrimExpr factor = make_const(offset.dtype(), buffer->offset_factor);
      require(equal(truncmod(buffer->elem_offset, factor), make_zero(offset.dtype())),
              name + ".elem_offset is expected to be a multiple of " + std::to_string(buffer->offset_factor));
    }
  }
  bind(device_type, struct_get(DataType::Int(32), handle, 0, StructField::DeviceType), name + ".device_type", true);
  bind(device_id, struct_get(DataType::Int(32), handle, 0, StructField::DeviceId), name + ".device_id", true);
}

Stmt merge_nest(const std::vector<Stmt>& nest, Stmt body) {
  for (size_t i = nest.size(); i-- > 0;) {
    if (auto* let = nest[i].as<LetStmt>()) body = with(let, &LetStmt::body, body);
    else if (auto* attr = nest[i].as<AttrStmt>()) body = with(attr, &AttrStmt::body, body);
    else if (auto* check = nest[i].as<AssertStmt>()) body = with(check, &AssertStmt::body, body);
    else if (auto* loop = nest[i].as<For>()) body = with(loop, &For::body, body);
    else if (auto* allocate = nest[i].as<Allocate>()) body = with(allocate, &Allocate::body, body);
    else body = sequence({nest[i], body});
  }
  return body;
}

}  // namespace tessera
