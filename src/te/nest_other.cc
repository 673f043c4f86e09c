// Nests of scans, extern statements and hybrid functions.

#include "ir/prim_ops.h"
#include "ir/rewrite.h"
#include "te/nest.h"
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

Stmt mark_extern(Stmt body) {
  return make(AttrStmt{.node = make_zero(DataType::Int(32)), .attr_key = attr::kExternScope, .value = 0, .body = body});
}

}  // namespace

Stmt provide_extern(NestBuilder& builder, const Stage& stage) {
  auto* op = stage->op.as<ExternOp>();
  Stmt body = mark_extern(op->body);
  for (size_t i = op->output_placeholders.size(); i-- > 0;)
    body = bind_view(op->output_placeholders[i], builder.target(output(stage->op, static_cast<int>(i))), body);
  for (size_t i = op->inputs.size(); i-- > 0;)
    body = bind_view(op->input_placeholders[i], builder.target(op->inputs[i]), body);
  return body;
}

Stmt provide_hybrid(NestBuilder& builder, const Stage& stage) {
  auto* op = stage->op.as<HybridOp>();
  if (!stage->relations.empty())
    throw Error(NotImplementedError) << "stage " << stage_name(stage.get())
                                     << ": the loops of a hybrid function cannot be split or fused; "
                                     << "write them so in the function";
  TensorMap<Tensor> own;
  for (size_t i = 0; i < op->outputs.size(); ++i)
    own[op->outputs[i]] = builder.target(output(stage->op, static_cast<int>(i)));
  auto redirect = [&](const DataProducer& producer) {
    Tensor tensor = downcast<Tensor>(producer);
    const Tensor* output = own.find(tensor.get());
    return DataProducer(output ? *output : builder.target(tensor));
  };
  Stmt body = rewrite(
      op->body,
      [&](Rewriter& self, const ProducerLoad* load) -> PrimExpr {
        return with(self.children(load), &ProducerLoad::producer, redirect(load->producer));
      },
      [&](Rewriter& self, const ProducerStore* store) -> Stmt {
        return with(self.children(store), &ProducerStore::producer, redirect(store->producer));
      },
      [&](Rewriter& self, const ProducerRealize* realize) -> Stmt {
        return with(self.children(realize), &ProducerRealize::producer, redirect(realize->producer));
      });
  return mark_extern(body);
}

}  // namespace tessera::te
