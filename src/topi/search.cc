#include "topi/search.h"

#include <algorithm>
#include <bit>

#include "ir/prim/ops.h"
#include "runtime/registry.h"
#include "te/reduce.h"
#include "topi/program.h"
#include "topi/safe_index.h"

namespace tessera::topi {

namespace {

/// A scan along one axis of a buffer.
struct Scan {
  static constexpr int kLanes = 16, kMaxVectors = 32;  // of a vector; side by side in a part that one thread does
  Buffer in, out;
  int axis;
  bool is_product, exclusive;
  DataType dtype;

  PrimExpr element(const Indices& at) const { return tessera::cast(dtype, make_load(in, at)); }
  PrimExpr next(const PrimExpr& sum, const PrimExpr& element) const {
    return is_product ? sum * element : sum + element;
  }
  Indices at(Indices rest, const PrimExpr& step) const {
    rest.insert(axis, step);
    return rest;
  }

  /// The line of the elements at `rest`, along which neighbours lie: the sum stays in a register.
  Stmt line(const Indices& rest) const {
    return with_memory(dtype, 1, [&](const Buffer& memory) {
      Cell sum(memory, 0);
      const bool is_real = dtype.is_floating() && !exclusive;  // -0 is what leaves every number as it is
      PrimExpr none = make_const(dtype, is_product ? 1.0 : is_real ? -0.0 : 0.0);
      return sequence({sum.set(none), loop(in->shape[static_cast<size_t>(axis)], [&](const PrimExpr& step) {
                         Stmt add = sum.set(next(sum(), element(at(rest, step))));
                         Stmt put = store(out, sum(), at(rest, step));
                         return sequence(exclusive ? std::vector{put, add} : std::vector{add, put});
                       })});
    });
  }

  /// `count` vectors of lines side by side, from the one at `rest` on: step by step, as memory lies.
  Stmt lines(const Indices& rest, int count) const {
    const PrimExpr extent = in->shape[static_cast<size_t>(axis)], zero = make_zero(extent.dtype());
    auto side_by_side = [&](auto body) {
      return loop(PrimExpr(count), [&](const PrimExpr& vector) {
        auto one = [&](const PrimExpr& lane) {
          Indices line = rest;
          PrimExpr column = vector * PrimExpr(kLanes) + lane;
          line.set(line.size() - 1, rest.back() + tessera::cast(rest.back().dtype(), column));
          return body(line);
        };
        return loop(PrimExpr(kLanes), one, LoopKind::Vectorized);
      });
    };
    Stmt first = side_by_side([&](const Indices& line) {
      PrimExpr none = make_const(dtype, is_product ? 1 : 0);
      return store(out, exclusive ? none : element(at(line, zero)), at(line, zero));
    });
    Stmt others = loop(extent - make_const(extent.dtype(), 1), [&](const PrimExpr& before) {
      PrimExpr step = before + make_const(before.dtype(), 1);
      return side_by_side([&](const Indices& line) {
        PrimExpr sum = make_load(out, at(line, before));
        return store(out, next(sum, element(at(line, exclusive ? before : step))), at(line, step));
      });
    });
    return when(extent > zero, sequence({first, others}));
  }
};

}  // namespace

te::Tensor scan(const te::Tensor& x, int axis, bool is_product, bool exclusive, DataType dtype) {
  String name = is_product ? "cumprod_generic" : "cumsum_generic";
  return program(name, {x}, {{x->shape, dtype}}, [&](const Buffers& in, const Buffers& out) {
    Scan scan{in[0], out[0], axis, is_product, exclusive, dtype};
    Indices others = x->shape;
    others.erase(axis);
    const int64_t* width = as_int(x->shape.back());
    const bool is_last = axis + 1 == static_cast<int>(x->shape.size());
    if (is_last || !width || *width < Scan::kLanes)
      return loops(others, [&](const Indices& rest) { return scan.line(rest); }, true);
    auto from = [&](int64_t first, int64_t count, int vectors) {
      Indices parts = others;
      parts.set(parts.size() - 1, PrimExpr(static_cast<int>(count)));
      auto part = [&](Indices rest) {
        const int size = vectors > 0 ? vectors * Scan::kLanes : 1;
        rest.set(rest.size() - 1, rest.back() * PrimExpr(size) + PrimExpr(static_cast<int>(first)));
        return vectors > 0 ? scan.lines(rest, vectors) : scan.line(rest);
      };
      return loops(parts, part, true);
    };
    const int64_t all = *width / Scan::kLanes, done = all * Scan::kLanes;
    auto vectors = static_cast<int>(std::min<int64_t>(all, Scan::kMaxVectors));
    while (all % vectors != 0) --vectors;
    Stmt whole = from(0, all / vectors, vectors);
    return done == *width ? whole : tessera::sequence({whole, from(done, *width - done, 0)});
  })[0];
}

te::Tensor argsort(const te::Tensor& x, int axis, bool ascends, DataType dtype) {
  return program("argsort_cpu", {x}, {{x->shape, dtype}}, [&](const Buffers& in, const Buffers& out) {
    return call_function("tvm.contrib.sort.argsort", {in[0], out[0], PrimExpr(axis), bool_imm(ascends)});
  })[0];
}

te::Tensor sort(const te::Tensor& x, int axis, bool ascends) {
  return program("sort_cpu", {x}, {{x->shape, x->dtype}}, [&](const Buffers& in, const Buffers& out) {
    return call_function("tvm.contrib.sort.sort", {in[0], out[0], PrimExpr(axis), bool_imm(ascends)});
  })[0];
}

Array<te::Tensor> topk(const te::Tensor& x, const PrimExpr& count, int axis, const String& what, bool ascends,
                       DataType dtype) {
  Indices shape = x->shape;
  shape.set(axis, count);
  std::vector<Result> results;
  if (what != "indices") results.push_back({shape, x->dtype});
  if (what != "values") results.push_back({shape, dtype});
  return program("topk_cpu", {x}, results, [&](const Buffers& in, const Buffers& out) {
    std::vector<PackedArgument> args{in[0]};
    for (const Buffer& buffer : out) args.push_back(buffer);
    args.push_back(tessera::cast(DataType::Int(64), count));
    args.push_back(PrimExpr(axis));
    args.push_back(string_imm(what));
    args.push_back(bool_imm(ascends));
    return call_function("tvm.contrib.sort.topk", args);
  });
}

te::Tensor searchsorted(const te::Tensor& sequence, const te::Tensor& values, bool right, DataType dtype) {
  PrimExpr size = sequence->shape.back();
  const int64_t* known = as_int(size);
  int halvings = known ? std::bit_width(static_cast<uint64_t>(*known)) : 64;
  return program(
      "searchsorted", {sequence, values}, {{values->shape, dtype}}, [&](const Buffers& in, const Buffers& out) {
        return loops(
            values->shape,
            [&](const Indices& at) {
              return with_memory(size.dtype(), 2, [&](const Buffer& memory) {
                Cell low(memory, 0), high(memory, 1);
                Indices probe;
                if (sequence->shape.size() > 1) probe = Indices(at.begin(), at.end() - 1);
                SafeAccess access({});
                for (size_t i = 0; i < probe.size(); ++i)
                  access.shares(values->shape[i], sequence->shape[i], static_cast<int>(i));
                PrimExpr middle = floordiv(low() + high(), make_const(size.dtype(), 2));
                probe.push_back(middle);
                PrimExpr element = make_load(in[0], probe), value = make_load(in[1], at);
                PrimExpr goes_after = right ? element <= value : element < value;
                Stmt halve = when(goes_after, low.set(middle + make_const(size.dtype(), 1)), high.set(middle));
                PrimExpr goes_on = logical_and(low() < high(), access.is_possible());
                Stmt search = loop(PrimExpr(halvings), [&](const PrimExpr&) { return when(goes_on, halve); });
                return tessera::sequence(
                    {low.set(make_zero(size.dtype())), high.set(size), search, store(out[0], low(), at)});
              });
            },
            true);
      })[0];
}

Array<te::Tensor> unique(const te::Tensor& x, bool sorted, bool with_counts) {
  DataType index = DataType::Int(32);
  std::vector<Result> results{{x->shape, x->dtype}, {x->shape, index}, {x->shape, index}, {{PrimExpr(1)}, index}};
  if (with_counts) results.push_back({x->shape, index});
  return program("_calc_unique", {x}, results, [&](const Buffers& in, const Buffers& out) {
    std::vector<PackedArgument> args{in[0]};
    for (const Buffer& buffer : out) args.push_back(buffer);
    args.push_back(bool_imm(sorted));
    return call_function("tessera.sort.unique", args);
  });
}

namespace {

PrimExpr is_nonzero(const PrimExpr& element) {
  return element.dtype().is_bool() ? element : not_equal(element, make_zero(element.dtype()));
}

}  // namespace

te::Tensor argwhere(const te::Tensor& condition, const PrimExpr& count) {
  Indices shape{count, PrimExpr(static_cast<int>(condition->shape.size()))};
  return program("argwhere", {condition}, {{shape, DataType::Int(32)}}, [&](const Buffers& in, const Buffers& out) {
    return with_memory(DataType::Int(64), 1, [&](const Buffer& memory) {
      Cell row(memory, 0);
      Stmt search = loops(condition->shape, [&](const Indices& at) {
        std::vector<Stmt> found;
        for (size_t i = 0; i < at.size(); ++i)
          found.push_back(store(out[0], at[i], {row(), PrimExpr(static_cast<int>(i))}));
        found.push_back(row.add(1));
        return when(is_nonzero(make_load(in[0], at)), tessera::sequence(found));
      });
      return tessera::sequence({row.set(make_const(DataType::Int(64), 0)), search});
    });
  })[0];
}

te::Tensor count_nonzero(const te::Tensor& condition) {
  Array<IterVar> axes;
  Indices at;
  for (const PrimExpr& extent : condition->shape) {
    axes.push_back(te::reduce_axis(make_range(make_zero(extent.dtype()), extent), "k" + std::to_string(axes.size())));
    at.push_back(axes.back()->var);
  }
  PrimExpr one = tessera::cast(DataType::Int(64), is_nonzero(te::load(condition, at)));
  return compute({}, "ax", [&](const Indices&) { return axes.empty() ? one : te::sum(one, axes); }, "count", kReduce);
}

namespace {

Globals search_globals{
    {"topi.running", [](te::Tensor x, int axis, bool is_product, bool exclusive,
                        DataType dtype) { return scan(x, counted_axis(axis, x), is_product, exclusive, dtype); }},
    {"topi.argsort", [](te::Tensor x, int axis, bool ascends,
                        DataType dtype) { return argsort(x, counted_axis(axis, x), ascends, dtype); }},
    {"topi.sort", [](te::Tensor x, int axis, bool ascends) { return sort(x, counted_axis(axis, x), ascends); }},
    {"topi.topk", [](te::Tensor x, PrimExpr count, int axis, String what, bool ascends,
                     DataType dtype) { return topk(x, count, counted_axis(axis, x), what, ascends, dtype); }},
    {"topi.searchsorted", searchsorted},
    {"topi.unique", unique},
    {"topi.argwhere", argwhere},
};

}  // namespace
}  // namespace tessera::topi
