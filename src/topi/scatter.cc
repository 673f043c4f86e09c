#include "topi/scatter.h"

#include "ir/prim/ops.h"
#include "runtime/registry.h"
#include "topi/program.h"
#include "topi/safe_index.h"

namespace tessera::topi {
namespace {

PrimExpr combined(const String& mode, const PrimExpr& old, const PrimExpr& update) {
  if (mode == "update") return update;
  if (mode == "add") return old + update;
  if (mode == "mul") return old * update;
  if (mode == "min") return min(old, update);
  if (mode == "max") return max(old, update);
  throw Error(ValueError) << "an update cannot be combined by \"" << mode
                          << "\"; it may be \"update\", \"add\", \"mul\", \"min\" or \"max\"";
}

PrimExpr inside(const PrimExpr& index, const PrimExpr& extent) {
  return logical_and(index >= make_zero(index.dtype()), index < tessera::cast(index.dtype(), extent));
}

/// Where an update goes: indices of one element or slice, and whether it exists. An update that lies outside is
/// dropped, or an error where the check says so.
struct WriteTarget {
  explicit WriteTarget(const IndexCheck& check) : check(check), access(check) {}

  /// An index from data; negative ones count from the end.
  void add(const PrimExpr& given, const PrimExpr& extent) {
    const auto axis = static_cast<int>(at.size());
    if (check) return at.push_back(access.index(given, extent, axis));
    PrimExpr index = wide_index(given, extent), size = tessera::cast(index.dtype(), extent);
    at.push_back(select(index < make_zero(index.dtype()), index + size, index));
    is_inside = logical_and(is_inside, inside(at.back(), extent));
  }
  /// The index of a loop over `from` elements.
  void add_common(const PrimExpr& index, const PrimExpr& from, const PrimExpr& extent) {
    access.shares(from, extent, static_cast<int>(at.size()));
    at.push_back(index);
  }
  /// Updates are read in loops over `shape`.
  void read_updates(const Indices& shape, const te::Tensor& updates) {
    for (size_t i = 0; i < shape.size(); ++i) access.shares(shape[i], updates->shape[i], static_cast<int>(i));
  }
  Stmt when_it_exists(const Stmt& write) const {
    PrimExpr exists = logical_and(is_inside, access.is_possible());
    return is_one(exists) ? write : when(exists, write);
  }

  const IndexCheck& check;
  SafeAccess access;
  Indices at;
  PrimExpr is_inside = bool_imm(true);
};

Stmt copied(const Buffer& from, const Buffer& to) {
  return loops(from->shape, [&](const Indices& at) { return store(to, make_load(from, at), at); }, true);
}

}  // namespace

te::Tensor scatter(const te::Tensor& x, const te::Tensor& indices, const te::Tensor& updates, int axis,
                   const String& mode, const IndexCheck& check) {
  String name = mode == "add" ? "scatter_add_generic" : "scatter_generic";
  return program(name, {x, indices, updates}, {{x->shape, x->dtype}}, [&](const Buffers& in, const Buffers& out) {
    auto write = [&](const Indices& from) {
      WriteTarget to(check);
      to.read_updates(indices->shape, updates);
      for (size_t i = 0; i < from.size(); ++i) {
        if (static_cast<int>(i) == axis) to.add(make_load(in[1], from), x->shape[i]);
        else to.add_common(from[i], indices->shape[i], x->shape[i]);
      }
      return to.when_it_exists(store(out[0], combined(mode, make_load(out[0], to.at), make_load(in[2], from)), to.at));
    };
    // Lines along the axis are independent, an element of a line follows the one before: where the axis is the first one,
    // the next one goes around it, for threads to share.
    const bool turns = axis == 0 && indices->shape.size() > 1;
    auto turned = [&](const Indices& at) {
      Indices out = at;
      if (turns) out.set(0, at[1]), out.set(1, at[0]);
      return out;
    };
    const Indices order = turned(indices->shape);
    size_t shared = 0;
    while (shared < order.size() && is_one(order[shared])) ++shared;
    Stmt writes = loops(
        order, [&](const Indices& at) { return write(turned(at)); }, shared != static_cast<size_t>(turns ? 1 : axis));
    return sequence({copied(in[0], out[0]), writes});
  })[0];
}

te::Tensor scatter_nd(const te::Tensor& x, const te::Tensor& indices, const te::Tensor& updates, const String& mode,
                      const IndexCheck& check) {
  const int64_t* width = as_int(indices->shape[0]);
  if (!width) throw Error(ValueError) << "scatter_nd: the first extent of indices must be a constant";
  return program("scatter_nd_generic", {x, indices, updates}, {{x->shape, x->dtype}},
                 [&](const Buffers& in, const Buffers& out) {
                   Indices columns(indices->shape.begin() + 1, indices->shape.end());
                   Indices slice(x->shape.begin() + *width, x->shape.end());
                   Indices shape = columns;
                   for (const PrimExpr& extent : slice) shape.push_back(extent);
                   Stmt writes = loops(columns, [&](const Indices& column) {
                     WriteTarget target(check);
                     target.read_updates(shape, updates);
                     for (int64_t i = 0; i < *width; ++i) {
                       Indices from{PrimExpr(static_cast<int>(i))};
                       for (const PrimExpr& index : column) from.push_back(index);
                       target.add(make_load(in[1], from), x->shape[i]);
                     }
                     return target.when_it_exists(loops(slice, [&](const Indices& rest) {
                       Indices from = column, to = target.at;
                       for (const PrimExpr& index : rest) from.push_back(index), to.push_back(index);
                       return store(out[0], combined(mode, make_load(out[0], to), make_load(in[2], from)), to);
                     }));
                   });
                   return sequence({copied(in[0], out[0]), writes});
                 })[0];
}

te::Tensor sparse_to_dense(const te::Tensor& indices, const Array<PrimExpr>& shape, const te::Tensor& values,
                           const PrimExpr& value) {
  te::Tensor rest =
      compute({}, "ax", [&](const Indices&) { return tessera::cast(values->dtype, value); }, "default", "");
  const size_t rank = indices->shape.size();
  return program(
      "sparse_to_dense", {indices, values, rest}, {{shape, values->dtype}}, [&](const Buffers& in, const Buffers& out) {
        Stmt fill = loops(shape, [&](const Indices& at) { return store(out[0], make_load(in[2], {}), at); }, true);
        Indices counted(indices->shape.begin(), indices->shape.begin() + (rank ? 1 : 0));
        Stmt writes = loops(counted, [&](const Indices& entry) {
          Indices target;
          PrimExpr fits = bool_imm(true);
          for (size_t i = 0; i < shape.size(); ++i) {
            Indices from = entry;
            if (rank == 2) from.push_back(PrimExpr(static_cast<int>(i)));
            target.push_back(wide_index(make_load(in[0], from), shape[i]));
            fits = logical_and(fits, inside(target.back(), shape[i]));
          }
          Indices from = values->shape.empty() ? Indices{} : entry;
          return when(fits, store(out[0], make_load(in[1], from), target));
        });
        return sequence({fill, writes});
      })[0];
}

te::Tensor invert_permutation(const te::Tensor& x) {
  return program("invert_permutation", {x}, {{x->shape, x->dtype}}, [&](const Buffers& in, const Buffers& out) {
    return loop(x->shape[0], [&](const PrimExpr& i) {
      PrimExpr index = wide_index(make_load(in[0], {i}), x->shape[0]);
      return when(inside(index, x->shape[0]), store(out[0], i, {index}));
    });
  })[0];
}

namespace {

Globals scatter_globals{
    {"topi.scatter", [](te::Tensor x, te::Tensor indices, te::Tensor updates, int axis,
                        String mode) { return scatter(x, indices, updates, counted_axis(axis, x), mode, {}); }},
    {"topi.scatter_nd", [](te::Tensor x, te::Tensor indices, te::Tensor updates,
                           String mode) { return scatter_nd(x, indices, updates, mode, {}); }},
    {"topi.sparse_to_dense", sparse_to_dense},
    {"topi.invert_permutation", invert_permutation},
};

}  // namespace
}  // namespace tessera::topi
