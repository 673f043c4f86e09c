#include "topi/cpu/contraction/matmul.h"

#include <algorithm>

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "topi/cpu/number.h"

namespace tessera::topi {
namespace {

constexpr int64_t kMaxElements = INT32_MAX;

const DataType kInt32 = DataType::Int(32), kInt64 = DataType::Int(64);

/// index * factor, without a term that is nothing.
PrimExpr times(const PrimExpr& index, int64_t factor) {
  return factor == 0 ? make_zero(index.dtype()) : index * make_const(index.dtype(), factor);
}

bool is_zero_number(const PrimExpr& value) {
  auto* constant = value.as<FloatImm>();
  return constant ? constant->value == 0 : is_zero(value);
}

const BufferLoad* load_of(const PrimExpr& value) {
  auto* widened = value.as<Cast>();
  return (widened ? widened->value : value).as<BufferLoad>();
}

struct Factors {
  const BufferLoad *a, *b;
};

/// The two factors of `C[...] = C[...] + x * y`, which may be cast to the type of C; nothing for other statements.
std::optional<Factors> factors_of(const BlockNode* block) {
  auto* store = block->body.as<BufferStore>();
  auto* sum = store ? store->value.as<Add>() : nullptr;
  auto* multiply = sum ? sum->b.as<Mul>() : nullptr;
  auto* before = sum ? sum->a.as<BufferLoad>() : nullptr;
  auto *x = multiply ? load_of(multiply->a) : nullptr, *y = multiply ? load_of(multiply->b) : nullptr;
  if (!x || !y || !before || !before->buffer.same_as(store->buffer)) return {};
  auto* init = block->init.as<BufferStore>();
  if (!init || !is_zero_number(init->value)) return {};
  return Factors{x, y};
}

bool is_parameter(const PrimFunc& function, const Buffer& buffer) {
  return std::any_of(function->params.begin(), function->params.end(),
                     [&](const Var& param) { return buffer.same_as(function->buffer_map.get_or_null(param)); });
}

/// The tensor with one dimension; empty where it is not compact, or too large for indices of 32 bits. Extents may be dynamic where
/// indices are of 64.
Buffer flattened(const Buffer& buffer, bool may_be_dynamic) {
  if (!buffer->strides.empty() || (buffer->elem_offset && !is_zero(buffer->elem_offset))) return nullptr;
  int64_t elements = 1;
  PrimExpr all = make_const(DataType::Int(64), 1);
  for (const PrimExpr& extent : buffer->shape) {
    const int64_t* value = as_int(extent);
    all = all * cast(DataType::Int(64), extent);
    if (may_be_dynamic) continue;
    if (!value || *value < 1 || elements > kMaxElements / *value) return nullptr;
    elements *= *value;
  }
  BufferNode out = *buffer.get();
  out.shape = {may_be_dynamic ? all : number(elements)};
  return make(std::move(out));
}

/// True where all indices are 0 when all axes are.
bool starts_at_zero(const BufferLoad* load) {
  for (const PrimExpr& index : load->indices) {
    PrimExpr first = substitute(index, [](const Var& var) { return make_zero(var->dtype); });
    if (!is_zero(arith::Analyzer().simplify(first))) return false;
  }
  return true;
}

bool varies_along(const BufferLoad* load, const Var& axis) {
  bool found = false;
  for (const PrimExpr& index : load->indices) walk(index, [&](const VarNode* var) { found |= var == axis.get(); });
  return found;
}

/// How far apart in memory neighbours along an axis of the block are, also where it takes shapes to say it; empty where that
/// differs from element to element.
PrimExpr constant_stride(const BlockNode* block, const BufferLoad* load, const Var& axis) {
  PrimExpr out = stride_of(load->buffer, load->indices, axis);
  bool is_constant = true;
  walk(out, [&](const VarNode* var) {
    for (const IterVar& iter : block->iter_vars) is_constant = is_constant && iter->var.get() != var;
  });
  return is_constant ? out : PrimExpr();
}

/// True where element (k, j) of the matrix lies as MatrixView::panel says; the group is the last extent of four.
bool lies_in_panels(const BufferLoad* load, const Var& k, int64_t depth, const Var& j, int64_t columns) {
  const Array<PrimExpr>& shape = load->buffer->shape;
  if (shape.size() != 3 && shape.size() != 4) return false;
  for (const PrimExpr& extent : shape)
    if (!as_int(extent)) return false;
  const PrimExpr group = shape.size() == 4 ? shape[3] : PrimExpr(1);
  arith::Analyzer analyzer;
  analyzer.bind(k, make_range(0, number(depth)));
  analyzer.bind(j, make_range(0, number(columns)));
  Array<PrimExpr> wanted{floordiv(j, shape[2]), floordiv(k, group), floormod(j, shape[2])};
  if (shape.size() == 4) wanted.push_back(floormod(k, group));
  for (size_t i = 0; i < wanted.size(); ++i)
    if (!analyzer.can_prove_equal(load->indices[i], wanted[i])) return false;
  return *as_int(shape[1]) == ceil_div(depth, *as_int(group)) && *as_int(shape[0]) * *as_int(shape[2]) >= columns;
}

}  // namespace

PrimExpr MatrixView::at(const PrimExpr& base, const PrimExpr& i, const PrimExpr& j) const {
  if (!load) return base + times(i, row) + times(j, column);
  auto along = [](const PrimExpr& index, int64_t stride, const PrimExpr& dynamic) {
    const PrimExpr wide = cast(kInt64, index);
    return dynamic ? wide * cast(kInt64, dynamic) : times(wide, stride);
  };
  return base + along(i, row, dynamic_row) + along(j, column, dynamic_column);
}

PrimExpr Matmul::base(const MatrixView& view, const PrimExpr& batch_index) const {
  if (view.load) {
    Map<Var, PrimExpr> values;
    for (size_t n = 0; n < block->iter_vars.size(); ++n) {
      const Var& var = block->iter_vars[n]->var;
      const bool is_batch = n < axes_.size() && axes_[n].from == From::Batch;
      values.set(var, cast(var->dtype, is_batch ? digit(n, batch_index, 0, 0) : PrimExpr(0)));
    }
    PrimExpr flat = make_const(kInt64, 0);
    for (size_t d = 0; d < view.load->indices.size(); ++d)
      flat = flat * cast(kInt64, view.load->buffer->shape[d]) + cast(kInt64, substitute(view.load->indices[d], values));
    return flat;
  }
  PrimExpr out = 0;
  int64_t inner = batch;
  for (size_t i = 0; i < batch_extents.size(); ++i) {
    const int64_t outer = inner;
    inner /= batch_extents[i];
    PrimExpr digit = floordiv(batch_index, number(inner));
    if (outer != batch) digit = floormod(digit, number(batch_extents[i]));
    out = out + times(digit, view.batch[i]);
  }
  return out;
}

PrimExpr Matmul::digit(size_t n, const PrimExpr& batch_index, const PrimExpr& i, const PrimExpr& j) const {
  const Axis& axis = axes_[n];
  if (axis.from == From::Unit) return 0;
  PrimExpr out = floordiv(axis.from == From::Batch ? batch_index : axis.from == From::Row ? i : j, axis.divisor);
  return axis.is_outermost ? out : floormod(out, axis.extent);
}

Stmt Matmul::store(const PrimExpr& batch_index, const PrimExpr& i, const PrimExpr& j, const PrimExpr& value) const {
  Array<PrimExpr> indices;
  for (size_t n = 0; n < axes_.size(); ++n)
    indices.push_back(cast(block->iter_vars[n]->var->dtype, digit(n, batch_index, i, j)));
  const Buffer& sums = block->writes[0]->buffer;
  if (!epilogue) return make(BufferStore{.buffer = sums, .value = value, .indices = indices});
  Map<Var, PrimExpr> values;
  for (size_t n = 0; n < indices.size(); ++n) values.set(epilogue->iter_vars[n]->var, indices[n]);
  Stmt body = rewrite(epilogue->body, [&](Rewriter& self, const BufferLoad* load) -> PrimExpr {
    return load->buffer.same_as(sums) ? value : PrimExpr(self.children(load));
  });
  return substitute(body, values);
}

bool Matmul::stores_by_functions() const {
  if (!epilogue) return false;
  int calls = 0;
  walk(epilogue->body, [&](const Call*) { ++calls; });
  return calls > 0;
}

std::optional<Matmul> as_matmul(const schedule::State& state, const schedule::BlockRef& ref, const PrimFunc& function) {
  std::optional<Reduction> reduction = as_reduction(state.find(ref), true);
  if (!reduction || reduction->reduce_axes != 1) return {};
  std::optional<Factors> factors = factors_of(reduction->block);
  if (!factors) return {};
  auto [x, y] = *factors;
  for (const BufferLoad* load : {x, y})
    if (!is_parameter(function, load->buffer) || !starts_at_zero(load)) return {};
  const std::vector<Var>& axes = reduction->axes;
  const std::vector<int64_t>& extents = reduction->extents;
  const Var& along = reduction->block->iter_vars.back()->var;

  // What varies along the last axis is the matrix on the right, and it alone.
  std::optional<size_t> last;
  for (size_t i = 0; i < axes.size(); ++i)
    if (extents[i] != 1) last = i;
  if (last && !varies_along(y, axes[*last])) std::swap(x, y);
  if (last && (varies_along(x, axes[*last]) || !varies_along(y, axes[*last]))) return {};

  Matmul out;
  out.block = reduction->block;
  out.dtype = out.block->writes[0]->buffer->dtype;
  out.a_dtype = x->buffer->dtype;
  out.b_dtype = y->buffer->dtype;
  out.axes_.resize(axes.size());
  auto extent_of = [&](size_t axis) { return cast(kInt32, out.block->iter_vars[axis]->dom->extent); };
  auto known = [](int64_t extent, int64_t guess) { return extent == kDynamic ? guess : extent; };
  out.k = known(reduction->reduce_extents[0], kGuessedDepth);
  if (reduction->reduce_extents[0] == kDynamic) out.dynamic_k = extent_of(axes.size());
  if (last) {
    out.n = known(extents[*last], kGuessedColumns);
    if (extents[*last] == kDynamic) out.dynamic_n = extent_of(*last);
    out.axes_[*last] = {Matmul::From::Column, 1, extent_of(*last), true};
  }

  // how the factors move along each axis
  auto set_stride = [](const PrimExpr& from, int64_t guess, int64_t* to, PrimExpr* dynamic) {
    *to = as_int(from) ? *as_int(from) : guess;
    if (!as_int(from)) *dynamic = from;
  };
  PrimExpr k_x = constant_stride(out.block, x, along), k_y = constant_stride(out.block, y, along);
  PrimExpr n_y = last ? constant_stride(out.block, y, axes[*last]) : PrimExpr(0);
  if (!k_x) return {};
  set_stride(k_x, kGuessedRows, &out.a.column, &out.a.dynamic_column);
  if (k_y && n_y) {
    set_stride(k_y, kGuessedColumns, &out.b.row, &out.b.dynamic_row);
    set_stride(n_y, kGuessedDepth, &out.b.column, &out.b.dynamic_column);
  } else if (last && !out.is_dynamic() && lies_in_panels(y, along, out.k, axes[*last], out.n)) {
    out.b.panel = *as_int(y->buffer->shape[2]);
    out.group = y->buffer->shape.size() == 4 ? *as_int(y->buffer->shape[3]) : 1;
  } else {
    return {};
  }

  // rows: the innermost axes of a alone, as far as they are one axis in its memory
  PrimExpr rows = 1;
  size_t left = last.value_or(0);  // axes that are no rows
  std::vector<size_t> row_axes;
  arith::Analyzer analyzer;
  for (size_t i = left; i-- > 0;) {
    if (extents[i] == 1) continue;
    if (varies_along(y, axes[i]) || !varies_along(x, axes[i])) break;
    PrimExpr apart = constant_stride(out.block, x, axes[i]);
    if (!apart) break;
    if (row_axes.empty()) {
      set_stride(apart, kGuessedDepth, &out.a.row, &out.a.dynamic_row);
    } else {
      PrimExpr row = out.a.dynamic_row ? out.a.dynamic_row : number(out.a.row);
      if (!analyzer.can_prove_equal(apart, cast(apart.dtype(), rows) * cast(apart.dtype(), row))) break;
    }
    PrimExpr extent = extent_of(i);
    out.axes_[i] = {Matmul::From::Row, rows, extent, false};
    row_axes.push_back(i);
    rows = analyzer.simplify(rows * extent);
  }
  if (!row_axes.empty()) out.axes_[row_axes.back()].is_outermost = true;
  out.m = as_int(rows) ? *as_int(rows) : kGuessedRows;
  if (!as_int(rows)) out.dynamic_m = rows;

  std::vector<size_t> batch;
  for (size_t i = 0; i < left; ++i)
    if (extents[i] != 1 && std::find(row_axes.begin(), row_axes.end(), i) == row_axes.end()) batch.push_back(i);
  PrimExpr all = 1;
  for (size_t n = batch.size(); n-- > 0;) {
    out.axes_[batch[n]] = {Matmul::From::Batch, all, extent_of(batch[n]), n == 0};
    all = analyzer.simplify(all * extent_of(batch[n]));
  }
  out.batch = as_int(all) ? *as_int(all) : kGuessedBatch;
  if (!as_int(all)) out.dynamic_batch = all;
  if (out.is_dynamic() && out.b.panel > 0) {
    if (!batch.empty()) return {};
  } else if (out.is_dynamic()) {
    out.a.load = x, out.b.load = y;
  } else {
    for (size_t i : batch) {
      auto a = stride(x, axes[i]), b = stride(y, axes[i]);
      if (!a || !b) return {};
      out.batch_extents.push_back(extents[i]);
      out.a.batch.push_back(*a);
      out.b.batch.push_back(*b);
    }
  }
  if (!out.a.load && (out.a.dynamic_row || out.a.dynamic_column || out.b.dynamic_row || out.b.dynamic_column))
    return {};

  out.a.flat = flattened(x->buffer, out.is_dynamic());
  out.b.flat = flattened(y->buffer, out.b.load != nullptr);
  if (!out.a.flat || !out.b.flat) return {};
  out.epilogue_ref = epilogue_of(state, ref, *reduction);
  if (out.epilogue_ref.key) {
    out.epilogue = state.find(out.epilogue_ref).block();
    if (!out.epilogue->body.as<BufferStore>()) out.epilogue = nullptr, out.epilogue_ref = {};
  }
  return out;
}

}  // namespace tessera::topi
