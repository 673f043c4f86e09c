// Nests of scans and extern statements.

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "te/nest/nest.h"
#include "tir/attrs.h"

namespace tessera::te {

/// for threads: { init; for t: if guards: update }
Stmt provide_scan(NestBuilder& builder, const Stage& stage) {
  size_t count = stage->leaf_iter_vars.size(), begin = 0;
  while (begin < count && stage->leaf_iter_vars[begin]->iter_type == IterType::ThreadIndex) ++begin;
  NestBuilder::Nest nest = builder.make_nest(stage);
  return builder.loops_around(nest, 0, begin, [&] {
    Stmt init = builder.pipelines(builder.scan_init(stage.get()), make_nop());
    Stmt steps = builder.loops_around(nest, begin, count, [&] {
      Stmt update = builder.pipelines(builder.scan_update(stage.get()), make_nop());
      return if_all(builder.nest_guards(nest, false, {}), update);
    });
    return sequence({init, steps});
  });
}

namespace {

/// Inside `body`, `view` is the whole of `tensor`.
Stmt bind_view(const Buffer& view, const Tensor& tensor, Stmt body) {
  Array<PrimExpr> region;
  for (const PrimExpr& extent : view->shape) {
    region.push_back(make_zero(extent.dtype()));
    region.push_back(extent);
  }
  return make(AttrStmt{.node = Array<ObjectRef>{view, tensor},
                       .attr_key = attr::kBufferBindScope,
                       .value = make_call(DataType::Handle(), "tir.tvm_tuple", region),
                       .body = std::move(body)});
}

}  // namespace

Stmt mark_extern(Stmt body) {
  return make(AttrStmt{.node = make_zero(DataType::Int(32)), .attr_key = attr::kExternScope, .value = 0, .body = body});
}

Stmt provide_extern(NestBuilder& builder, const Stage& stage) {
  auto* op = stage->op.as<ExternOp>();
  Stmt body = mark_extern(op->body);
  for (size_t i = op->output_placeholders.size(); i-- > 0;)
    body = bind_view(op->output_placeholders[i], builder.target(output(stage->op, static_cast<int>(i))), body);
  for (size_t i = op->inputs.size(); i-- > 0;)
    body = bind_view(op->input_placeholders[i], builder.target(op->inputs[i]), body);
  return body;
}

}  // namespace tessera::te
