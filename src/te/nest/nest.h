#pragma once
// The loop nest of a schedule, constructed in one pass from its description.

#include "te/bounds.h"

namespace tessera::te {

/// The program of a normalised schedule: each stage's loops at its attach point, its tensor realised around them and
/// their consumers. Loops of one iteration disappear unless `keep_trivial_loops`.
Stmt schedule_ops(const Schedule& sch, const Bounds& bounds, bool keep_trivial_loops = false);

/// Where nests of attached stages, loops and guards come from while one schedule is built.
class NestBuilder {
 public:
  NestBuilder(const Schedule& sch, const Bounds& bounds, bool keep_trivial_loops);
  Stmt operator()();

  // ---- for the makers of each kind of operation ----

  enum class Part { Main, Init };
  /// One nest of a stage: the value of every axis in it. Init nests have loop variables of their own.
  struct Nest {
    Stage stage;
    Part part = Part::Main;
    AxisMap<PrimExpr> values;
    AxisMap<Var> loop_vars;
    Map<Var, PrimExpr> roots;  // axes of the operation, for its body
  };
  /// `outer` gives the values of loops that an init nest shares with the main one.
  Nest make_nest(const Stage& stage, Part part = Part::Main, const Nest* outer = nullptr, size_t shared = 0,
                 const AxisSet& skip = {});
  /// Loops `begin` to `end` of the nest around `inner`, with what is attached to them.
  Stmt loops_around(const Nest& nest, size_t begin, size_t end, const std::function<Stmt()>& inner,
                    const AxisSet& skip = {});
  std::vector<PrimExpr> nest_guards(const Nest& nest, bool skip_domain, const AxisSet& skip);
  /// An expression or statement of the operation, over the loops of the nest and the tensors of the program.
  template <class R>
  R in_nest(const Nest& nest, const R& node) {
    return downcast<R>(ObjectRef(seen_from(nest, node)));
  }
  PrimExpr in_nest(const Nest& nest, const PrimExpr& e) { return downcast<PrimExpr>(seen_from(nest, e)); }
  /// The tensor of the program that stands for an operation's: as the user wrote it, a scan's own for its parts.
  Tensor target(const Tensor& tensor) const;
  /// The axes of a stage that come from reduce axes, and those that come from nothing else.
  struct Reduced {
    AxisSet any, only;
  };
  Reduced reduced(const Stage& stage, const Array<IterVar>& axis, const Array<IterVar>& reduce_axis);
  const Bounds& bounds() const { return bounds_; }
  const Relations& relations(const Stage& stage) { return relations_[stage]; }
  arith::Analyzer& analyzer() { return analyzer_; }
  /// The stages of a list, in order, around what consumes them.
  Stmt pipelines(const std::vector<Stage>& stages, Stmt consumer);
  const std::vector<Stage>& scan_init(const StageNode* scan) { return scan_init_[scan]; }
  const std::vector<Stage>& scan_update(const StageNode* scan) { return scan_update_[scan]; }

 private:
  ObjectRef seen_from(const Nest& nest, const ObjectRef& node);
  Stmt pipeline(const Stage& stage, Stmt consumer);
  Range never_negative(const Range& range);
  Stmt realize(const Stage& stage, Stmt body);
  Stmt provide(const Stage& stage);
  Stmt one_loop(const Nest& nest, const IterVar& leaf, Stmt body, bool is_thread_new);
  /// What depends on axes of the operation in terms of the loops. Such an axis is taken as guarded: never beyond its
  /// domain, even where the loops around run past it.
  PrimExpr over_loops(const Nest& nest, const PrimExpr& e);
  std::vector<Stage>& attached(const StageNode* stage, const IterVar& leaf) { return attached_[{stage, leaf.get()}]; }

  struct PairHash {
    size_t operator()(const std::pair<const void*, const void*>& key) const {
      return std::hash<const void*>()(key.first) * 31 + std::hash<const void*>()(key.second);
    }
  };
  Schedule sch_;
  const Bounds& bounds_;
  bool keep_trivial_loops_;
  AttachPaths paths_;
  RelationsOfStages relations_;
  arith::Analyzer analyzer_;
  loops::VarIntervals intervals_;
  TensorMap<Tensor> targets_;
  AxisSet active_threads_;
  std::vector<Stage> roots_;
  std::unordered_map<std::pair<const void*, const void*>, std::vector<Stage>, PairHash> attached_;
  std::unordered_map<const StageNode*, std::vector<Stage>> scan_init_, scan_update_;
  std::unordered_set<const OperationNode*> scan_parts_;  // written straight into the scan's tensors
};

/// The statement that computes a stage, by kind of operation.
Stmt provide_compute(NestBuilder& builder, const Stage& stage);
Stmt provide_scan(NestBuilder& builder, const Stage& stage);
Stmt provide_extern(NestBuilder& builder, const Stage& stage);
Stmt provide_hybrid(NestBuilder& builder, const Stage& stage);
Stmt provide_tensor_compute(NestBuilder& builder, const Stage& stage);

/// `body` as something whose accesses are its own affair.
Stmt mark_extern(Stmt body);

/// `body` under each condition, the first one outermost.
Stmt if_all(const std::vector<PrimExpr>& conditions, Stmt body);

}  // namespace tessera::te
