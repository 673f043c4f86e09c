#include "topi/cpu/contraction/matmul.h"

#include <algorithm>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"

namespace tessera::topi {
namespace {

constexpr int64_t kMaxElements = INT32_MAX;

PrimExpr number(int64_t value) { return PrimExpr(static_cast<int>(value)); }

/// index * factor, without a term that is nothing.
PrimExpr times(const PrimExpr& index, int64_t factor) { return factor == 0 ? PrimExpr(0) : index * number(factor); }

bool is_zero_float(const PrimExpr& value) {
  auto* constant = value.as<FloatImm>();
  return constant && constant->value == 0;
}

/// The two factors of `C[...] = C[...] + x * y`; nothing for other statements.
std::optional<std::pair<const BufferLoad*, const BufferLoad*>> factors_of(const BlockNode* block) {
  auto* store = block->body.as<BufferStore>();
  auto* sum = store ? store->value.as<Add>() : nullptr;
  auto* matmul = sum ? sum->b.as<Mul>() : nullptr;
  auto* before = sum ? sum->a.as<BufferLoad>() : nullptr;
  auto *x = matmul ? matmul->a.as<BufferLoad>() : nullptr, *y = matmul ? matmul->b.as<BufferLoad>() : nullptr;
  if (!x || !y || !before || !before->buffer.same_as(store->buffer)) return {};
  auto* init = block->init.as<BufferStore>();
  if (!init || !is_zero_float(init->value)) return {};
  return std::pair(x, y);
}

bool is_parameter(const PrimFunc& function, const Buffer& buffer) {
  return std::any_of(function->params.begin(), function->params.end(),
                     [&](const Var& param) { return buffer.same_as(function->buffer_map.get_or_null(param)); });
}

/// The tensor with one dimension; empty where it is not compact or its size not a number.
Buffer flattened(const Buffer& buffer) {
  if (!buffer->strides.empty() || (buffer->elem_offset && !is_zero(buffer->elem_offset))) return nullptr;
  int64_t elements = 1;
  for (const PrimExpr& extent : buffer->shape) {
    const int64_t* value = as_int(extent);
    if (!value || *value < 1 || elements > kMaxElements / *value) return nullptr;
    elements *= *value;
  }
  BufferNode out = *buffer.get();
  out.shape = {number(elements)};
  return make(std::move(out));
}

/// The number of the element that a load reads where all axes are 0; nothing where indices have other terms.
bool starts_at_zero(const BufferLoad* load) {
  for (const PrimExpr& index : load->indices) {
    PrimExpr first = substitute(index, [](const Var& var) { return make_zero(var->dtype); });
    if (!is_zero(first)) return false;
  }
  return true;
}

struct Strides {
  int64_t a = 0, b = 0;
};

}  // namespace

PrimExpr MatrixView::at(const PrimExpr& base, const PrimExpr& i, const PrimExpr& j) const {
  return base + times(i, row) + times(j, column);
}

PrimExpr Matmul::base(const MatrixView& view, const PrimExpr& batch_index) const {
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

Stmt Matmul::store(const PrimExpr& batch_index, const PrimExpr& i, const PrimExpr& j, const PrimExpr& value) const {
  Array<PrimExpr> places;
  for (const Axis& axis : axes_) {
    if (axis.from == From::Unit) {
      places.push_back(PrimExpr(0));
      continue;
    }
    const PrimExpr& whole = axis.from == From::Batch ? batch_index : axis.from == From::Row ? i : j;
    const int64_t all = axis.from == From::Batch ? batch : axis.from == From::Row ? m : n;
    PrimExpr digit = floordiv(whole, number(axis.divisor));
    places.push_back(axis.divisor * axis.extent == all ? digit : floormod(digit, number(axis.extent)));
  }
  const Buffer& sums = block->writes[0]->buffer;
  if (!reader) return make(BufferStore{.buffer = sums, .value = value, .indices = places});
  Map<Var, PrimExpr> values;
  for (size_t n = 0; n < places.size(); ++n) values.set(reader->iter_vars[n]->var, places[n]);
  Stmt body = rewrite(reader->body, [&](Rewriter& self, const BufferLoad* load) -> PrimExpr {
    return load->buffer.same_as(sums) ? value : PrimExpr(self.children(load));
  });
  return substitute(body, values);
}

bool Matmul::stores_by_functions() const {
  if (!reader) return false;
  int calls = 0;
  walk(reader->body, [&](const Call*) { ++calls; });
  return calls > 0;
}

std::optional<Matmul> as_matmul(const schedule::State& state, const schedule::BlockRef& ref, const PrimFunc& function) {
  std::optional<Reduction> reduction = as_reduction(state.find(ref));
  if (!reduction || reduction->reduce_axes != 1) return {};
  auto factors = factors_of(reduction->block);
  if (!factors) return {};
  auto [x, y] = *factors;
  Matmul out;
  out.block = reduction->block;
  out.dtype = out.block->writes[0]->buffer->dtype;
  if (out.dtype != DataType::Float(32) && out.dtype != DataType::Float(64)) return {};
  for (const BufferLoad* load : {x, y})
    if (load->dtype != out.dtype || !is_parameter(function, load->buffer) || !starts_at_zero(load)) return {};

  // how both factors move along each axis
  const size_t rank = reduction->axes.size();
  std::vector<Strides> strides;
  std::optional<size_t> last;
  for (size_t i = 0; i < rank; ++i) {
    auto along_x = stride(x, reduction->axes[i]), along_y = stride(y, reduction->axes[i]);
    if (!along_x || !along_y) return {};
    strides.push_back({*along_x, *along_y});
    if (reduction->extents[i] > 1) last = i;
  }
  const Var& along = out.block->iter_vars.back()->var;
  auto k_x = stride(x, along), k_y = stride(y, along);
  if (!k_x || !k_y) return {};
  Strides k{*k_x, *k_y};
  if (last && strides[*last].b == 0) {  // what varies along the last axis is the matrix on the right
    std::swap(x, y);
    std::swap(k.a, k.b);
    for (Strides& one : strides) std::swap(one.a, one.b);
  }
  if (last && (strides[*last].a != 0 || strides[*last].b == 0)) return {};

  out.k = reduction->reduce_extents[0];
  out.a.flat = flattened(x->buffer);
  out.b.flat = flattened(y->buffer);
  if (!out.a.flat || !out.b.flat) return {};
  out.a.column = k.a;
  out.b.row = k.b;
  out.axes_.resize(rank);
  auto take = [&](size_t i, Matmul::From from, int64_t divisor) {
    out.axes_[i] = {from, divisor, reduction->extents[i]};
  };
  if (last) {
    out.n = reduction->extents[*last];
    out.b.column = strides[*last].b;
    take(*last, Matmul::From::Column, 1);
  }
  // rows: the innermost axes of a alone, as far as they are one axis in its memory
  std::vector<bool> is_row(rank, false);
  for (size_t i = last.value_or(0); i-- > 0;) {
    if (reduction->extents[i] == 1) continue;
    const bool is_first = out.m == 1, continues = strides[i].a == out.a.row * out.m;
    if (strides[i].b != 0 || strides[i].a == 0 || !(is_first || continues)) break;
    if (is_first) out.a.row = strides[i].a;
    take(i, Matmul::From::Row, out.m);
    is_row[i] = true;
    out.m *= reduction->extents[i];
  }
  std::vector<size_t> batch;
  for (size_t i = 0; i < last.value_or(0); ++i)
    if (reduction->extents[i] > 1 && !is_row[i]) batch.push_back(i);
  for (size_t i : batch) {
    out.batch *= reduction->extents[i];
    out.batch_extents.push_back(reduction->extents[i]);
    out.a.batch.push_back(strides[i].a);
    out.b.batch.push_back(strides[i].b);
  }
  int64_t inner = out.batch;
  for (size_t i : batch) take(i, Matmul::From::Batch, inner /= reduction->extents[i]);

  out.reader_ref = reader_of(state, ref, *reduction);
  if (out.reader_ref.key) {
    out.reader = state.find(out.reader_ref).block();
    if (!out.reader->body.as<BufferStore>()) out.reader = nullptr, out.reader_ref = {};
  }
  return out;
}

}  // namespace tessera::topi
