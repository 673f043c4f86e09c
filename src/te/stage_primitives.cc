// Primitives that describe loops of one stage. Each checks first, then changes the description.

#include <algorithm>

#include "ir/prim/ops.h"
#include "runtime/registry.h"
#include "te/schedule.h"
#include "te/tensorize.h"

namespace tessera::te {
namespace {

std::string at(const StageNode* stage, const IterVar& iv) {
  return "stage " + stage_name(stage) + ", axis " + iv->var->name.str() + ": ";
}

void edit_attr(const Stage& stage, const IterVar& iv, const std::function<void(IterVarAttrNode*)>& change) {
  auto* known = attr_of(stage.get(), iv);
  IterVarAttrNode node = known ? *known : IterVarAttrNode{};
  change(&node);
  stage.edit()->iter_var_attrs.set(iv, make(std::move(node)));
}

IterVar derived_axis(const IterVar& from, const std::string& name, IterType type) {
  return make_iter_var(nullptr, make_var(name, from->var->dtype), type);
}

void check_can_divide(const Stage& stage, const IterVar& iv, const char* what) {
  if (iv->iter_type == IterType::DataPar || iv->iter_type == IterType::CommReduce || iv->iter_type == IterType::Ordered)
    return;
  throw Error(RuntimeError) << at(stage.get(), iv) << "Cannot " << what << " an axis of kind "
                            << iter_type_name(iv->iter_type);
}

IterVar fuse_two(const Stage& stage, IterVar outer, IterVar inner) {
  check_can_divide(stage, outer, "fuse");
  check_can_divide(stage, inner, "fuse");
  size_t a = leaf_position(stage.get(), outer), b = leaf_position(stage.get(), inner);
  if (a == b + 1) {
    std::swap(outer, inner);
    std::swap(a, b);
  }
  if (a + 1 != b)
    throw Error(RuntimeError) << "stage " << stage_name(stage.get())
                              << ": Can only fuse iterations that are consecutive between each other; "
                              << outer->var->name << " and " << inner->var->name << " are not. Reorder them first";
  IterType type = std::max(outer->iter_type, inner->iter_type);
  IterVar fused = derived_axis(outer->var->dtype.bits >= inner->var->dtype.bits ? outer : inner,
                               outer->var->name.str() + "." + inner->var->name.str() + ".fused", type);
  StageNode* self = stage.edit();
  self->relations.push_back(make(Fuse{.outer = outer, .inner = inner, .fused = fused}));
  self->all_iter_vars.push_back(fused);
  self->leaf_iter_vars.erase(b);
  self->leaf_iter_vars.set(a, fused);
  return fused;
}

}  // namespace

/// split(i, factor): for i in range(n)  =>  for i.outer in range(ceildiv(n, factor)): for i.inner in range(factor)
std::pair<IterVar, IterVar> split(const Stage& stage, const IterVar& parent, PrimExpr factor, PrimExpr nparts) {
  check_can_divide(stage, parent, "split");
  for (const PrimExpr& given : {factor, nparts})
    if (given.defined() && as_int(given) && *as_int(given) <= 0)
      throw Error(ValueError) << at(stage.get(), parent) << "cannot split by " << given << "; it must be positive";
  if (bool(factor) == bool(nparts))
    throw Error(ValueError) << at(stage.get(), parent) << "split takes either a factor or a number of parts";
  size_t position = leaf_position(stage.get(), parent);
  IterVar outer = derived_axis(parent, parent->var->name + ".outer", parent->iter_type);
  IterVar inner = derived_axis(parent, parent->var->name + ".inner", parent->iter_type);
  DataType dtype = parent->var->dtype;
  if (factor) factor = cast(dtype, factor);
  if (nparts) nparts = cast(dtype, nparts);
  StageNode* self = stage.edit();
  self->relations.push_back(
      make(Split{.parent = parent, .outer = outer, .inner = inner, .factor = factor, .nparts = nparts}));
  self->all_iter_vars.push_back(outer);
  self->all_iter_vars.push_back(inner);
  self->leaf_iter_vars.set(position, outer);
  self->leaf_iter_vars.insert(position + 1, inner);
  return {outer, inner};
}

/// fuse(i, j): for i in range(n): for j in range(m)  =>  for i.j.fused in range(n * m)
IterVar fuse(const Stage& stage, const Array<IterVar>& axes) {
  if (!axes.empty()) {
    IterVar fused = axes[0];
    for (size_t i = 1; i < axes.size(); ++i) fused = fuse_two(stage, fused, axes[i]);
    return fused;
  }
  IterVar iter = make_iter_var(make_range(0, 1), make_var("singleton"), IterType::DataPar);
  StageNode* self = stage.edit();
  self->relations.push_back(make(Singleton{.iter = iter}));
  self->all_iter_vars.push_back(iter);
  self->leaf_iter_vars.push_back(iter);
  return iter;
}

void reorder(const Stage& stage, const Array<IterVar>& order) {
  std::vector<size_t> positions;
  for (const IterVar& iv : order) {
    check_can_divide(stage, iv, "reorder");
    size_t position = leaf_position(stage.get(), iv);
    if (std::find(positions.begin(), positions.end(), position) != positions.end())
      throw Error(RuntimeError) << at(stage.get(), iv) << "Same axis can not appear more than once in a reorder";
    positions.push_back(position);
  }
  std::sort(positions.begin(), positions.end());
  for (size_t i = 0; i < order.size(); ++i) stage.edit()->leaf_iter_vars.set(positions[i], order[i]);
}

void bind(const Stage& stage, const IterVar& iv, const IterVar& thread) {
  if (iv->iter_type != IterType::DataPar && iv->iter_type != IterType::CommReduce)
    throw Error(RuntimeError) << at(stage.get(), iv) << "Cannot bind an axis of kind " << iter_type_name(iv->iter_type)
                              << " to a thread";
  if (!thread || thread->iter_type != IterType::ThreadIndex)
    throw Error(RuntimeError) << at(stage.get(), iv) << "Cannot rebase by " << (thread ? thread->var->name : "nothing")
                              << ", only thread axes can be bound to";
  leaf_position(stage.get(), iv);
  edit_attr(stage, iv, [&](IterVarAttrNode* attr) { attr->bind_thread = thread; });
}

void compute_at(const Stage& stage, const Stage& parent, const IterVar& scope) {
  if (stage->attach_type == AttachType::ScanUpdate)
    throw Error(RuntimeError) << "stage " << stage_name(stage.get()) << ": Cannot specify compute_at for scan updates";
  for (Stage above = stage->group; above; above = above->group)
    if (above.same_as(parent))
      throw Error(RuntimeError) << "stage " << stage_name(stage.get()) << ": cannot be computed at its own group";
  if (!parent || !scope)
    throw Error(ValueError) << "stage " << stage_name(stage.get())
                            << ": compute_at needs a stage and an axis of it, not None";
  leaf_position(parent.get(), scope);
  if (stage->group) {
    Stage around = parent->group;
    while (around && !around.same_as(stage->group)) around = around->group;
    if (!around)
      throw Error(RuntimeError) << "stage " << stage_name(stage.get())
                                << ": Can only assign compute_at to stages within the same group, and stage "
                                << stage_name(parent.get()) << " lies outside of it";
  }
  StageNode* self = stage.edit();
  self->attach_type = AttachType::Scope;
  self->attach_ivar = scope;
  self->attach_stage = parent;
}

void compute_inline(const Stage& stage) {
  if (stage->attach_type == AttachType::ScanUpdate)
    throw Error(RuntimeError) << "stage " << stage_name(stage.get())
                              << ": Cannot specify compute_inline for scan updates";
  stage.edit()->attach_type = AttachType::Inline;
}

void compute_root(const Stage& stage) {
  if (stage->attach_type == AttachType::ScanUpdate)
    throw Error(RuntimeError) << "stage " << stage_name(stage.get())
                              << ": Cannot specify compute_root for scan updates";
  StageNode* self = stage.edit();
  self->attach_type = AttachType::GroupRoot;
  self->attach_stage = nullptr;
  self->attach_ivar = nullptr;
}

void set_loop_kind(const Stage& stage, const IterVar& iv, IterType type) {
  leaf_position(stage.get(), iv);
  edit_attr(stage, iv, [&](IterVarAttrNode* attr) { attr->iter_type = type; });
}

void pragma(const Stage& stage, const IterVar& iv, const String& key, PrimExpr value) {
  if (key == "unroll") return set_loop_kind(stage, iv, IterType::Unrolled);
  if (key == "vectorize") return set_loop_kind(stage, iv, IterType::Vectorized);
  leaf_position(stage.get(), iv);
  edit_attr(stage, iv, [&](IterVarAttrNode* attr) {
    attr->pragma_keys.push_back(string_imm(key));
    attr->pragma_values.push_back(value ? value : PrimExpr(1));
  });
}

namespace {

void set_scope(Stage stage, String scope) { stage.edit()->scope = scope; }

void env_threads(Stage stage, Array<IterVar> threads) {
  if (!stage->op || !stage->op.as<ScanOp>())
    throw Error(RuntimeError) << "stage " << stage_name(stage.get())
                              << ": env_threads is only valid for composite ops such as ScanOp";
  if (!stage->env_threads.empty())
    throw Error(RuntimeError) << "stage " << stage_name(stage.get()) << ": Already set env_threads";
  for (const IterVar& thread : threads)
    if (!thread->dom)
      throw Error(RuntimeError) << at(stage.get(), thread) << "a thread around a scan needs a range, "
                                << "te.thread_axis((0, n), \"" << thread->thread_tag << "\")";
  StageNode* self = stage.edit();
  self->env_threads = threads;
  for (size_t i = 0; i < threads.size(); ++i) {
    self->leaf_iter_vars.insert(i, threads[i]);
    self->all_iter_vars.push_back(threads[i]);
  }
}

void prefetch(Stage stage, Tensor tensor, IterVar iv, PrimExpr offset) {
  leaf_position(stage.get(), iv);
  edit_attr(stage, iv, [&](IterVarAttrNode* attr) {
    attr->prefetch_data.push_back(tensor);
    attr->prefetch_offset.push_back(offset);
  });
}

void storage_align(Stage stage, IterVar iv, int factor, int offset) {
  auto is_it = [&](const IterVar& own) { return own.same_as(iv); };
  if (std::none_of(stage->all_iter_vars.begin(), stage->all_iter_vars.end(), is_it)) leaf_position(stage.get(), iv);
  edit_attr(stage, iv, [&](IterVarAttrNode* attr) {
    attr->dim_align_factor = factor;
    attr->dim_align_offset = offset;
  });
}

void reject_output(const Stage& stage, const char* what) {
  if (stage->is_output)
    throw Error(RuntimeError) << "stage " << stage_name(stage.get()) << ": Cannot apply " << what << " on output";
}

std::vector<IterVar> tile(Stage stage, IterVar x, IterVar y, PrimExpr x_factor, PrimExpr y_factor) {
  auto [x_outer, x_inner] = split(stage, x, x_factor, nullptr);
  auto [y_outer, y_inner] = split(stage, y, y_factor, nullptr);
  reorder(stage, {x_outer, y_outer, x_inner, y_inner});
  return {x_outer, y_outer, x_inner, y_inner};
}

Array<IterVar> pair_of(const std::pair<IterVar, IterVar>& axes) { return {axes.first, axes.second}; }

Globals stage_primitives_globals{
    {"te.StageSetScope", set_scope},
    {"te.StageBind", bind},
    {"te.StageSplitByFactor",
     [](Stage stage, IterVar parent, PrimExpr factor) { return pair_of(split(stage, parent, factor, nullptr)); }},
    {"te.StageSplitByNParts",
     [](Stage stage, IterVar parent, PrimExpr nparts) { return pair_of(split(stage, parent, nullptr, nparts)); }},
    {"te.StageFuse", fuse},
    {"te.StageComputeAt", compute_at},
    {"te.StageComputeInline", compute_inline},
    {"te.StageComputeRoot", compute_root},
    {"te.StageReorder", reorder},
    {"te.StageTile", [](Stage stage, IterVar x, IterVar y, PrimExpr x_factor,
                        PrimExpr y_factor) { return Array<IterVar>(tile(stage, x, y, x_factor, y_factor)); }},
    {"te.StageEnvThreads", env_threads},
    {"te.StageSetStorePredicate", [](Stage stage, PrimExpr predicate) { stage.edit()->store_predicate = predicate; }},
    {"te.StageUnroll", [](Stage stage, IterVar iv) { set_loop_kind(stage, iv, IterType::Unrolled); }},
    {"te.StageVectorize", [](Stage stage, IterVar iv) { set_loop_kind(stage, iv, IterType::Vectorized); }},
    {"te.StageParallel", [](Stage stage, IterVar iv) { set_loop_kind(stage, iv, IterType::Parallelized); }},
    {"te.StageTensorize", tensorize},
    {"te.StagePragma", pragma},
    {"te.StagePrefetch", prefetch},
    {"te.StageStorageAlign", storage_align},
    {"te.StageDoubleBuffer",
     [](Stage stage) {
       reject_output(stage, "double buffer");
       stage.edit()->double_buffer = true;
     }},
    {"te.StageRollingBuffer",
     [](Stage stage) {
       reject_output(stage, "rolling buffer");
       stage.edit()->rolling_buffer = true;
     }},
};

}  // namespace

void tensorize(const Stage& stage, const IterVar& iv, const TensorIntrin& intrin) {
  leaf_position(stage.get(), iv);
  edit_attr(stage, iv, [&](IterVarAttrNode* attr) {
    attr->iter_type = IterType::Tensorized;
    attr->tensor_intrin = intrin;
  });
}

}  // namespace tessera::te
