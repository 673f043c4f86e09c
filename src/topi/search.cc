#include "topi/search.h"

#include <bit>

#include "ir/prim_ops.h"
#include "runtime/registry.h"
#include "te/reduce.h"
#include "topi/program.h"

namespace tessera::topi {

te::Tensor running(const te::Tensor& x, int axis, bool is_product, bool exclusive, DataType dtype) {
  String name = is_product ? "cumprod_generic" : "cumsum_generic";
  return program(name, {x}, {{x->shape, dtype}}, [&](const Buffers& in, const Buffers& out) {
    Indices others = x->shape;
    others.erase(axis);
    return loops(
        others,
        [&](const Indices& rest) {
          auto at = [&](const PrimExpr& step) {
            Indices place = rest;
            place.insert(axis, step);
            return place;
          };
          return loop(x->shape[axis], [&](const PrimExpr& step) {
            PrimExpr before = step - make_const(step.dtype(), 1);
            PrimExpr element = tessera::cast(dtype, make_load(in[0], at(exclusive ? before : step)));
            PrimExpr sum = make_load(out[0], at(before));
            PrimExpr first = exclusive ? make_const(dtype, is_product ? 1 : 0) : element;
            return when(equal(step, make_zero(step.dtype())), store(out[0], first, at(step)),
                        store(out[0], is_product ? sum * element : sum + element, at(step)));
          });
        },
        true);
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
                Indices place;
                if (sequence->shape.size() > 1) place = Indices(at.begin(), at.end() - 1);
                PrimExpr middle = floordiv(low() + high(), make_const(size.dtype(), 2));
                place.push_back(middle);
                PrimExpr element = make_load(in[0], place), value = make_load(in[1], at);
                PrimExpr goes_after = right ? element <= value : element < value;
                Stmt halve = when(goes_after, low.set(middle + make_const(size.dtype(), 1)), high.set(middle));
                Stmt search = loop(PrimExpr(halvings), [&](const PrimExpr&) { return when(low() < high(), halve); });
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

int counted_axis(int axis, const te::Tensor& x) { return axis < 0 ? axis + static_cast<int>(x->shape.size()) : axis; }

Globals globals{
    {"topi.running", [](te::Tensor x, int axis, bool is_product, bool exclusive,
                        DataType dtype) { return running(x, counted_axis(axis, x), is_product, exclusive, dtype); }},
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
