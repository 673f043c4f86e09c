#include "te/prim_func.h"

#include "ir/rewrite.h"
#include "runtime/registry.h"
#include "tir/attrs.h"

namespace tessera::te {
namespace {

/// Where the physical dimensions of tensors begin, of those that say so.
using Separators = TensorMap<Array<PrimExpr>>;

Separators separators_of(const Schedule& ready) {
  Separators out;
  for (const Stage& stage : ready->stages)
    for (int i = 0; !stage->axis_separators.empty() && i < num_outputs(stage->op.get()); ++i)
      out[output(stage->op, i)] = stage->axis_separators;
  return out;
}

Buffer separated(const Buffer& buffer, const Tensor& tensor, const Separators& separators) {
  const Array<PrimExpr>* known = separators.find(tensor.get());
  return known ? with(buffer, &BufferNode::axis_separators, *known) : buffer;
}

/// Replaces tensors by buffers: those given, else one made where the tensor is realised.
class BuffersForTensors {
 public:
  BuffersForTensors(const Binds& given, const Separators& separators) : separators_(separators) {
    for (const auto& [tensor, buffer] : given) {
      buffers_[tensor] = buffer;
      given_[tensor] = true;
    }
  }

  Stmt operator()(const Stmt& body) {
    note_scopes(body);
    Rewriter rewriter;
    rewriter.on([this](Rewriter& self, const ProducerLoad* load) -> PrimExpr {
      auto inner = self.children(load);
      return make_load(buffer_of(load->producer), inner->indices);
    });
    rewriter.on([this](Rewriter& self, const ProducerStore* store) -> Stmt {
      auto inner = self.children(store);
      return make(BufferStore{.buffer = buffer_of(store->producer), .value = inner->value, .indices = inner->indices});
    });
    rewriter.on([this](Rewriter& self, const ProducerRealize* realize) -> Stmt {
      Tensor tensor = downcast<Tensor>(realize->producer);
      auto inner = self.children(realize);
      if (given_.find(tensor.get())) return inner->body;
      return make(BufferRealize{.buffer = buffer_of(realize->producer),
                                .bounds = inner->bounds,
                                .condition = inner->condition,
                                .body = inner->body});
    });
    rewriter.on([this](Rewriter& self, const AttrStmt* mark) -> Stmt {
      auto inner = self.children(mark);
      if (Tensor tensor = downcast_or_null<Tensor>(mark->node)) {
        if (mark->attr_key == attr::kBufferDimAlign && given_.find(tensor.get())) return inner->body;
        return with(inner, &AttrStmt::node, ObjectRef(buffer_of(tensor)));
      }
      if (mark->attr_key != attr::kBufferBindScope) return inner;
      auto* pair = mark->node.as<ArrayNode>();
      Array<ObjectRef> view{pair->items[0], buffer_of(DataProducer(downcast<Tensor>(pair->items[1])))};
      return with(inner, &AttrStmt::node, ObjectRef(view));
    });
    return rewriter(body);
  }

 private:
  void note_scopes(const Stmt& body) {
    walk(body, [&](const ProducerRealize* realize) {
      Tensor tensor = downcast<Tensor>(realize->producer);
      if (buffers_.find(tensor.get())) return;
      buffers_[tensor] =
          separated(decl_buffer(tensor->shape, tensor->dtype, tensor_name(tensor.get()), realize->storage_scope),
                    tensor, separators_);
    });
  }

  Buffer buffer_of(const DataProducer& producer) {
    Tensor tensor = downcast<Tensor>(producer);
    if (const Buffer* known = buffers_.find(tensor.get())) return *known;
    throw Error(RuntimeError) << "Cannot find the Realization point of tensor " << tensor_name(tensor.get())
                              << ": it is neither computed by the schedule nor among the arguments";
  }

  const Separators& separators_;
  TensorMap<Buffer> buffers_;
  TensorMap<bool> given_;
};

/// A buffer whose strides are the caller's; a stride of zero repeats an element.
Buffer broadcasting_buffer(const Tensor& tensor) {
  Buffer compact = decl_buffer(tensor->shape, tensor->dtype, tensor->op->name);
  BufferNode node(*compact);
  for (const PrimExpr& extent : tensor->shape) node.strides.push_back(make_var("stride", extent.dtype()));
  node.buffer_type = BufferType::AutoBroadcast;
  return make(std::move(node));
}

bool has_symbolic_shape(const Tensor& tensor) {
  for (const PrimExpr& extent : tensor->shape)
    if (!as_int(extent)) return true;
  return false;
}

/// Views of buffers in extern code and tensor intrinsics know no strides unless they say so.
bool needs_compact_buffers(const Stmt& body) {
  bool found = false;
  walk(body, [&](const AttrStmt* mark) { found = found || mark->attr_key == attr::kBufferBindScope; });
  return found;
}

/// A tensor whose stage has a layout of its own is, once normalised, another one of that shape.
Tensor in_layout(const Schedule& sch, const Schedule& ready, const Tensor& tensor) {
  Stage stage = sch->stage_map.get_or_null(tensor->op);
  if (!stage || stage->layout_transforms.empty()) return tensor;
  for (size_t i = 0; i < sch->stages.size(); ++i)
    if (sch->stages[i].same_as(stage)) return output(ready->stages[i]->op, tensor->value_index);
  return tensor;
}

}  // namespace

std::pair<Array<ObjectRef>, Binds> argument_buffers(const Array<ObjectRef>& args, bool compact, const Binds& binds) {
  TensorMap<Buffer> known;
  Array<ObjectRef> params;
  for (const auto& [tensor, buffer] : binds) known[tensor] = buffer;
  for (const ObjectRef& arg : args) {
    if (Tensor tensor = downcast_or_null<Tensor>(arg)) {
      Buffer& buffer = known[tensor];
      if (!buffer)
        buffer = has_symbolic_shape(tensor) && !compact ? broadcasting_buffer(tensor)
                                                        : decl_buffer(tensor->shape, tensor->dtype, tensor->op->name);
      params.push_back(buffer);
    } else if (arg.as<BufferNode>() || arg.as<VarNode>()) {
      params.push_back(arg);
    } else {
      throw Error(TypeError) << "an argument of lower must be a Tensor, a Buffer or a Var, not "
                             << (arg ? arg->type_key() : "None");
    }
  }
  Binds out;
  for (const auto& [tensor, buffer] : known) out.set(tensor, buffer);
  return {params, out};
}

static PrimFunc nest_to_prim_func(const Array<ObjectRef>& args, const Stmt& nest, const Binds& binds,
                                  const Separators& separators) {
  Binds known = binds ? binds : Binds();
  Array<Var> params;
  Map<Var, Buffer> buffer_map;
  auto add = [&](const Buffer& buffer) {
    Var param = make_var(buffer->name, DataType::Handle());
    params.push_back(param);
    buffer_map.set(param, buffer);
  };
  for (const ObjectRef& arg : args) {
    if (Var var = downcast_or_null<Var>(arg)) {
      params.push_back(var);
    } else if (Tensor tensor = downcast_or_null<Tensor>(arg)) {
      Buffer buffer =
          separated(decl_buffer(tensor->shape, tensor->dtype, tensor_name(tensor.get())), tensor, separators);
      known.set(tensor, buffer);
      add(buffer);
    } else {
      add(downcast<Buffer>(arg));
    }
  }
  PrimFunc function = make_prim_func(params, BuffersForTensors(known, separators)(nest), buffer_map);
  return with_attr(function, attr::kFromLegacyTeSchedule, bool_imm(true));
}

PrimFunc nest_to_prim_func(const Array<ObjectRef>& args, const Stmt& nest, const Binds& binds) {
  return nest_to_prim_func(args, nest, binds, {});
}

static PrimFunc by_program(const Schedule& sch, const Array<ObjectRef>& args, const String& name) {
  if (args.size() != sch->program->params.size())
    throw Error(ValueError) << "this schedule is a program of " << sch->program->params.size() << " arguments, and "
                            << args.size() << " are given";
  return with_attr(sch->program, attr::kGlobalSymbol, name);
}

PrimFunc schedule_to_prim_func(const Schedule& sch, const Array<ObjectRef>& args, const String& name,
                               const Binds& binds) {
  if (sch->program) return by_program(sch, args, name);
  Schedule ready = normalize(sch);
  Stmt nest = schedule_ops(ready, infer_bounds(ready));
  auto laid_out = [&](const Tensor& tensor) { return in_layout(sch, ready, tensor); };
  Array<ObjectRef> given;
  for (const ObjectRef& arg : args) {
    Tensor tensor = downcast_or_null<Tensor>(arg);
    given.push_back(tensor ? ObjectRef(laid_out(tensor)) : arg);
  }
  Binds bound;
  for (const auto& [tensor, buffer] : binds) bound.set(laid_out(tensor), buffer);
  Separators separators = separators_of(ready);
  for (const ObjectRef& arg : given)  // arguments of physical dimensions are declared so
    if (Tensor tensor = downcast_or_null<Tensor>(arg); tensor && separators.find(tensor.get()) && !bound.count(tensor))
      bound.set(tensor, separated(decl_buffer(tensor->shape, tensor->dtype, tensor->op->name), tensor, separators));
  auto [params, buffers] = argument_buffers(given, needs_compact_buffers(nest), bound);
  PrimFunc function = nest_to_prim_func(params, nest, buffers, separators);
  return with_attr(function, attr::kGlobalSymbol, name);
}

namespace {

Globals prim_func_globals{
    {"schedule.ScheduleByProgram",
     [](const Array<Operation>& outputs, const PrimFunc& program) {
       Schedule out = create_schedule(outputs);
       out.edit()->program = program;
       return out;
     }},
    {"schedule.SchedulePostProcToPrimFunc",
     [](Array<ObjectRef> args, Stmt nest, Binds binds) { return nest_to_prim_func(args, nest, binds); }},
    {"schedule.VerifyCompactBuffer", needs_compact_buffers},
    {"te.ScheduleToPrimFunc", schedule_to_prim_func},
};

}  // namespace
}  // namespace tessera::te
