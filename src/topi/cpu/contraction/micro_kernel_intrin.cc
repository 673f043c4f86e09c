// Micro-kernels as tensor intrinsics: what they compute, for a schedule to find, beside how they do it.

#include "ir/prim/ops.h"
#include "runtime/registry.h"
#include "tir/function.h"
#include "topi/cpu/contraction/micro_kernel.h"

namespace tessera::topi {
namespace {

const DataType kInt32 = DataType::Int(32);

Array<PrimExpr> b_shape(const MicroKernel& kernel) {
  if (kernel->group == 1) return {kernel->kc, kernel->nr};
  return {kernel->kc / kernel->group, kernel->nr, kernel->group};
}

/// Where element (k, j) of B lies.
Array<PrimExpr> b_index(const MicroKernel& kernel, const PrimExpr& k, const PrimExpr& j) {
  if (kernel->group == 1) return {k, j};
  return {floordiv(k, kernel->group), j, floormod(k, kernel->group)};
}

/// A view of memory with free strides and a free offset, dense along its last dimension.
Buffer free_view(const Array<PrimExpr>& shape, DataType dtype, const char* name) {
  BufferNode node;
  node.data = make_var(name, pointer_type(dtype));
  node.dtype = dtype;
  node.shape = shape;
  for (size_t i = 0; i + 1 < shape.size(); ++i)
    node.strides.push_back(make_var(std::string(name) + "_stride" + std::to_string(i), kInt32));
  node.strides.push_back(1);
  node.elem_offset = make_var(std::string(name) + "_offset", kInt32);
  node.name = name;
  node.offset_factor = 1;
  return make(std::move(node));
}

Panels free_panels(const MicroKernel& kernel) {
  return {free_view({kernel->mr, kernel->kc}, kernel->a_dtype, "A"), free_view(b_shape(kernel), kernel->b_dtype, "B"),
          free_view({kernel->mr, kernel->nr}, kernel->c_dtype, "C")};
}

PrimExpr sum_over(const PrimExpr& term, const IterVar& axis) {
  Var x = make_var("x", term.dtype()), y = make_var("y", term.dtype());
  Reduce node;
  node.dtype = term.dtype();
  node.combiner =
      make(CommReducerNode{.lhs = {x}, .rhs = {y}, .result = {x + y}, .identity_element = {make_zero(term.dtype())}});
  node.source = {term};
  node.axis = {axis};
  node.condition = bool_imm(true);
  return make(std::move(node));
}

PrimExpr multiplied(const MicroKernel& kernel, const PrimExpr& a, const PrimExpr& b) {
  return cast(kernel->c_dtype, a) * cast(kernel->c_dtype, b);
}

BufferRegion whole(const Buffer& buffer) {
  Array<Range> region;
  for (const PrimExpr& extent : buffer->shape) region.push_back(make_range(0, extent));
  return make(BufferRegionNode{.buffer = buffer, .region = region});
}

/// with block("root"): reads and writes all of the panels; body
PrimFunc block_function(const Panels& panels, Stmt body) {
  BlockNode block;
  block.name_hint = "root";
  block.reads = {whole(panels.c), whole(panels.a), whole(panels.b)};
  block.writes = {whole(panels.c)};
  block.body = std::move(body);
  Stmt root = make(BlockRealize{.iter_values = {}, .predicate = bool_imm(true), .block = make(std::move(block))});
  Array<Var> params;
  Map<Var, Buffer> buffers;
  for (const Buffer& buffer : {panels.a, panels.b, panels.c}) {
    params.push_back(make_var(buffer->name.str() + "_handle", DataType::Handle()));
    buffers.set(params.back(), buffer);
  }
  return make_prim_func(params, root, buffers);
}

/// for i, j, k: C[i, j] += A[i, k] * B[k, j]. An axis of one iteration is no axis of the block, as a schedule leaves it.
PrimFunc description(const MicroKernel& kernel) {
  Panels panels = free_panels(kernel);
  const std::pair<const char*, int> axes[] = {{"i", kernel->mr}, {"j", kernel->nr}, {"k", kernel->kc}};
  BlockNode update;
  std::vector<Var> loops;
  Array<PrimExpr> points, bindings;
  for (const auto& [name, extent] : axes) {
    loops.push_back(make_var(name, kInt32));
    points.push_back(PrimExpr(0));
    if (extent == 1) continue;
    Var axis = make_var(std::string("v") + name, kInt32);
    IterType type = loops.size() == 3 ? IterType::CommReduce : IterType::DataPar;
    update.iter_vars.push_back(make_iter_var(make_range(0, extent), axis, type));
    bindings.push_back(loops.back());
    points.set(points.size() - 1, axis);
  }
  PrimExpr i = points[0], j = points[1], k = points[2];
  Array<PrimExpr> at_b = b_index(kernel, k, j);
  PrimExpr a = make_load(panels.a, {i, k}), b = make_load(panels.b, at_b), c = make_load(panels.c, {i, j});
  auto point = [](const Buffer& buffer, const Array<PrimExpr>& indices) {
    Array<Range> region;
    for (const PrimExpr& index : indices) region.push_back(make_range(index, 1));
    return BufferRegion(make(BufferRegionNode{.buffer = buffer, .region = region}));
  };
  update.name_hint = "update";
  update.reads = {point(panels.c, {i, j}), point(panels.a, {i, k}), point(panels.b, at_b)};
  update.writes = {point(panels.c, {i, j})};
  update.body = make(BufferStore{.buffer = panels.c, .value = c + multiplied(kernel, a, b), .indices = {i, j}});
  Stmt body =
      make(BlockRealize{.iter_values = bindings, .predicate = bool_imm(true), .block = make(std::move(update))});
  for (size_t n = 3; n-- > 0;) body = make(For{.loop_var = loops[n], .min = 0, .extent = axes[n].second, .body = body});
  return block_function(panels, body);
}

}  // namespace

te::TensorIntrin te_intrin(const MicroKernel& kernel) {
  te::Tensor a = te::placeholder({kernel->mr, kernel->kc}, kernel->a_dtype, "a");
  te::Tensor b = te::placeholder(b_shape(kernel), kernel->b_dtype, "b");
  IterVar k = te::reduce_axis(make_range(0, kernel->kc), "k");
  te::Tensor c = te::compute(
      {kernel->mr, kernel->nr},
      [&](const Array<PrimExpr>& i) {
        PrimExpr term = multiplied(kernel, te::load(a, {i[0], k->var}), te::load(b, b_index(kernel, k->var, i[1])));
        return sum_over(term, k);
      },
      "c");
  Panels panels = free_panels(kernel);
  te::TensorIntrinNode out;
  out.name = kernel->name;
  out.op = c->op;
  out.inputs = {a, b};
  out.buffers = {panels.a, panels.b, panels.c};
  out.body = kernel_body(kernel, panels, Sums::FromZero);
  out.reduce_init = kernel_clear(kernel, panels);
  out.reduce_update = kernel_body(kernel, panels, Sums::FromMemory);
  return make(std::move(out));
}

TensorIntrin tir_intrin(const MicroKernel& kernel) {
  Panels panels = free_panels(kernel);
  PrimFunc impl = block_function(panels, kernel_body(kernel, panels, Sums::FromMemory));
  return make(tessera::TensorIntrinNode{.desc = description(kernel), .impl = impl});
}

namespace {

Globals globals{
    {"topi.cpu.te_intrin", te_intrin},
    {"topi.cpu.tir_intrin", tir_intrin},
    {"topi.cpu.register_intrin",
     [](MicroKernel kernel) {
       register_tensor_intrin(kernel->name.str(), tir_intrin(kernel), /*replace=*/true);
       return kernel->name;
     }},
};

}  // namespace
}  // namespace tessera::topi
