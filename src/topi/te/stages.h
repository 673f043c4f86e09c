#pragma once
// Questions about the stages of a TE schedule, through those that are computed where they are read.

#include <functional>
#include <unordered_set>
#include <vector>

#include "te/schedule.h"

namespace tessera::topi {

/// The number of iterations of an axis; -1 where a run decides it.
int64_t extent_of(const IterVar& axis);
/// The largest divisor of `extent` that is at most `limit`.
int64_t divisor_of(int64_t extent, int64_t limit);
inline const te::ComputeOp* compute_of(const te::Stage& stage) { return stage->op.as<te::ComputeOp>(); }
inline bool is_inline(const te::Stage& stage) { return stage->attach_type == te::AttachType::Inline; }
bool is_reduction(const te::Stage& stage);
/// The iterations of all axes of an operation.
int64_t total_work(const te::ComputeOp* op);
bool have_same_extents(const te::Stage& a, const te::Stage& b, size_t axes);

/// The axes as one.
IterVar fused(const te::Stage& stage, const Array<IterVar>& axes);

/// How elements that are read lie in memory while a variable counts.
enum class Along { Same, Neighbours, Apart };
Along along(const Array<PrimExpr>& indices, const Var& var);

class StageReads {
 public:
  explicit StageReads(te::Schedule sch) : sch_(std::move(sch)) {}

  struct Reader {
    te::Stage stage;
    Array<PrimExpr> indices;  // none of a statement of the user's own
  };
  /// What a stage reads.
  void each_read(const te::Stage& stage,
                 const std::function<void(const te::Tensor&, const Array<PrimExpr>& indices)>& read) const;
  std::vector<Reader> readers_of(const te::Stage& stage) const;
  /// The reduction outside of `without` that an element-wise stage alone reads, element by element; none where there is none.
  te::Stage reduction_before(const te::Stage& stage, const std::unordered_set<const Object*>& without) const;

  /// What is computed of rows for one stage over the same rows alone: reductions, and element-wise stages over whole rows.
  struct Rows {
    size_t axes = 0;  // the first axes of all these stages count rows
    std::vector<te::Stage> stages;
  };
  Rows rows_before(const te::Stage& stage, const std::unordered_set<const Object*>& without) const;

 private:
  void each_read_in(const PrimExpr& expr,
                    const std::function<void(const te::Tensor&, const Array<PrimExpr>& indices)>& read) const;

  te::Schedule sch_;
};

/// How a target schedules the stages of a program that nobody scheduled, the last first: reductions with what is computed from
/// their elements, rows together, and other element-wise stages.
class StagePolicy {
 public:
  explicit StagePolicy(const te::Schedule& sch) : sch_(sch), reads_(sch) {}
  virtual ~StagePolicy() = default;
  StagePolicy(const StagePolicy&) = delete;
  StagePolicy& operator=(const StagePolicy&) = delete;
  void run();

 protected:
  /// `epilogue` alone reads the sums, element by element; it may be none.
  virtual void reduction(const te::Stage& sums, const te::Stage& epilogue) = 0;
  /// A stage with what `rows_before` finds of it; false where that is nothing.
  virtual bool by_rows(const te::Stage& stage) = 0;
  virtual void element_wise(const te::Stage& stage) = 0;

  te::Schedule sch_;
  StageReads reads_;
  std::unordered_set<const Object*> done_;
};

}  // namespace tessera::topi
