#pragma once
// The TE schedule: a description of loops, attachments and annotations, changed in place by its primitives. Nothing is
// rewritten until lowering builds the nest from it, except by the primitives that add tensors to the graph.

#include "te/tensor_compute.h"
#include "tir/function.h"

namespace tessera::te {

enum class AttachType : int32_t {
  GroupRoot = 1,       // where its group is, or outermost
  Inline = 2,          // to be put into its consumers
  InlinedAlready = 3,  // normalisation did so
  Scope = 4,           // inside a loop of another stage
  ScanUpdate = 5,      // in the update of a scan
};

// ---- relations between axes --------------------------------------------------------------------------------

struct IterVarRelationNode : Object {
  static constexpr NodeInfo info{"IterVarRelation", &Object::info};
  static void fields(auto) {}
};
using IterVarRelation = Ref<IterVarRelationNode>;

/// parent = outer * extent(inner) + inner. One of `factor` (of inner) and `nparts` (of outer) is set.
struct Split : IterVarRelationNode {
  IterVar parent, outer, inner;
  PrimExpr factor, nparts;
  static constexpr NodeInfo info{"Split", &IterVarRelationNode::info};
  static void fields(auto f) {
    f("parent", &Split::parent);
    f("outer", &Split::outer);
    f("inner", &Split::inner);
    f("factor", &Split::factor, Optional);
    f("nparts", &Split::nparts, Optional);
  }
};

/// fused = outer * extent(inner) + inner.
struct Fuse : IterVarRelationNode {
  IterVar outer, inner, fused;
  static constexpr NodeInfo info{"Fuse", &IterVarRelationNode::info};
  static void fields(auto f) {
    f("outer", &Fuse::outer);
    f("inner", &Fuse::inner);
    f("fused", &Fuse::fused);
  }
};

/// rebased = parent - min(parent).
struct Rebase : IterVarRelationNode {
  IterVar parent, rebased;
  static constexpr NodeInfo info{"Rebase", &IterVarRelationNode::info};
  static void fields(auto f) {
    f("parent", &Rebase::parent);
    f("rebased", &Rebase::rebased);
  }
};

/// An axis of one iteration, for stages that have none.
struct Singleton : IterVarRelationNode {
  IterVar iter;
  static constexpr NodeInfo info{"Singleton", &IterVarRelationNode::info};
  static void fields(auto f) { f("iter", &Singleton::iter); }
};

/// What is said about one axis: how its loop runs, its thread, prefetches, alignment and pragmas.
struct IterVarAttrNode : Object {
  IterType iter_type = IterType::DataPar;
  IterVar bind_thread;
  Array<Tensor> prefetch_data;
  Array<PrimExpr> prefetch_offset;
  TensorIntrin tensor_intrin;
  int32_t dim_align_factor = 0, dim_align_offset = 0;
  Array<PrimExpr> pragma_keys, pragma_values;
  static constexpr NodeInfo info{"IterVarAttr", &Object::info};
  static void fields(auto f) {
    f("iter_type", &IterVarAttrNode::iter_type);
    f("bind_thread", &IterVarAttrNode::bind_thread, Optional);
    f("prefetch_data", &IterVarAttrNode::prefetch_data);
    f("prefetch_offset", &IterVarAttrNode::prefetch_offset);
    f("tensor_intrin", &IterVarAttrNode::tensor_intrin, Optional);
    f("dim_align_factor", &IterVarAttrNode::dim_align_factor);
    f("dim_align_offset", &IterVarAttrNode::dim_align_offset);
    f("pragma_keys", &IterVarAttrNode::pragma_keys);
    f("pragma_values", &IterVarAttrNode::pragma_values);
  }
};
using IterVarAttr = Ref<IterVarAttrNode>;

// ---- stage and schedule ------------------------------------------------------------------------------------

/// How one operation is computed. A group is a stage without operation. Changes on purpose.
struct StageNode : Object {
  Operation op, origin_op;  // rewritten by cache and rfactor primitives; as the user wrote it
  Array<IterVar> all_iter_vars, leaf_iter_vars, env_threads;
  PrimExpr store_predicate;
  Array<IterVarRelation> relations;
  Map<IterVar, IterVarAttr> iter_var_attrs;
  AttachType attach_type = AttachType::GroupRoot;
  IterVar attach_ivar;
  Ref<StageNode> attach_stage;
  String scope;
  bool is_output = false, double_buffer = false, rolling_buffer = false;
  Ref<StageNode> group;
  int32_t num_child_stages = 0;
  Array<ObjectRef> layout_transforms;
  Array<PrimExpr> axis_separators;

  static constexpr NodeInfo info{"Stage", &Object::info, Role::Identity};
  static void fields(auto f) {
    f("op", &StageNode::op, Optional);
    f("origin_op", &StageNode::origin_op, Optional);
    f("all_iter_vars", &StageNode::all_iter_vars);
    f("leaf_iter_vars", &StageNode::leaf_iter_vars);
    f("env_threads", &StageNode::env_threads);
    f("store_predicate", &StageNode::store_predicate, Optional);
    f("relations", &StageNode::relations);
    f("iter_var_attrs", &StageNode::iter_var_attrs);
    f("attach_type", &StageNode::attach_type);
    f("attach_ivar", &StageNode::attach_ivar, Optional);
    f("attach_stage", &StageNode::attach_stage, Optional);
    f("scope", &StageNode::scope);
    f("is_output", &StageNode::is_output);
    f("double_buffer", &StageNode::double_buffer);
    f("rolling_buffer", &StageNode::rolling_buffer);
    f("group", &StageNode::group, Optional);
    f("num_child_stages", &StageNode::num_child_stages);
    f("layout_transforms", &StageNode::layout_transforms);
    f("axis_separators", &StageNode::axis_separators);
  }
};
using Stage = Ref<StageNode>;

/// Stages in an order where each comes after those it reads. `stage_map` finds a stage by its origin_op.
struct ScheduleNode : Object {
  Array<Operation> outputs;
  Array<Stage> stages, groups;
  Map<Operation, Stage> stage_map;
  /// What the schedule rules made of the outputs, a function of the arguments that the schedule is built with. Where it is set, this is the
  /// schedule, and stages say nothing.
  PrimFunc program;
  static constexpr NodeInfo info{"Schedule", &Object::info, Role::Identity};
  static void fields(auto f) {
    f("outputs", &ScheduleNode::outputs);
    f("stages", &ScheduleNode::stages);
    f("groups", &ScheduleNode::groups);
    f("stage_map", &ScheduleNode::stage_map);
    f("program", &ScheduleNode::program, Optional);
  }
};
using Schedule = Ref<ScheduleNode>;

Schedule create_schedule(const Array<Operation>& outputs);
/// The stage of an operation (as written, or as a primitive returned it); an error that lists the stages there are.
Stage stage_of(const Schedule& sch, const Operation& op);
Stage make_stage(const Operation& op);
/// A schedule of its own that says the same.
Schedule copy_schedule(const Schedule& sch);
/// A copy made ready for bounds: inlining done, every loop begins at 0, attachments point to loops that exist.
Schedule normalize(const Schedule& sch);

/// The stage or group whose attachment decides where `stage` is computed.
Stage attach_spec(const Stage& stage);
/// What the user said about an axis; null when nothing.
const IterVarAttrNode* attr_of(const StageNode* stage, const IterVar& iv);
/// The thread an axis is bound to, or an empty reference.
IterVar bound_thread(const StageNode* stage, const IterVar& iv);
/// Position among the leaves; throws an error that names the stage, the axis and the leaves there are.
size_t leaf_position(const StageNode* stage, const IterVar& iv);
std::string stage_name(const StageNode* stage);

// ---- primitives on a stage ---------------------------------------------------------------------------------

std::pair<IterVar, IterVar> split(const Stage& stage, const IterVar& parent, PrimExpr factor, PrimExpr nparts);
IterVar fuse(const Stage& stage, const Array<IterVar>& axes);
void reorder(const Stage& stage, const Array<IterVar>& order);
void bind(const Stage& stage, const IterVar& iv, const IterVar& thread);
void compute_at(const Stage& stage, const Stage& parent, const IterVar& scope);
void compute_inline(const Stage& stage);
void compute_root(const Stage& stage);
void set_loop_kind(const Stage& stage, const IterVar& iv, IterType type);  // Vectorized, Unrolled, Parallelized
void pragma(const Stage& stage, const IterVar& iv, const String& key, PrimExpr value);

// ---- primitives that add tensors ---------------------------------------------------------------------------

/// A copy of `tensor` in `scope` that `readers` read instead.
Tensor cache_read(const Schedule& sch, const Tensor& tensor, const String& scope, const Array<Operation>& readers);
/// The computation moved into new tensors in `scope`, laid out by the leaves of the stage; the stage becomes a copy.
Array<Tensor> cache_write(const Schedule& sch, const Array<Tensor>& tensors, const String& scope);
/// Partial results for each value of `axis`, a reduce leaf; the stage then reduces over those.
Array<Tensor> rfactor(const Schedule& sch, const Tensor& tensor, const IterVar& axis, int factor_axis);
Stage create_group(const Schedule& sch, const Array<Tensor>& outputs, const Array<Tensor>& inputs, bool include_inputs);

}  // namespace tessera::te
