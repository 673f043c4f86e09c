#pragma once
// Programs that reduce rows and compute with what they found, as one kernel: softmax, normalisations, sums.

#include <optional>

#include "tir/loops/accumulation.h"
#include "topi/block_rule.h"
#include "topi/gpu/machine.h"

namespace tessera::topi {

/// A stage of such a program, written in the variables of the program instead of its own.
struct RowStage {
  schedule::BlockRef ref;
  const BlockNode* block = nullptr;
  Buffer target;
  Array<PrimExpr> indices;                    // that it writes
  PrimExpr value;                             // that it stores, or takes in
  std::optional<loops::Accumulated> reduced;  // in its own variables
  bool is_of_elements = false;                // computed for each element, else for each row
  bool is_result = false;                     // of the function
};

/// All stages of a program: reductions of rows, and what is computed for each row or each of its elements.
struct RowProgram {
  std::vector<Var> rows, elements;  // the axes, those of one iteration left out
  std::vector<PrimExpr> row_extents, element_extents;
  std::vector<RowStage> stages;
  int64_t count = -1, length = -1;  // of rows, and of elements of a row; -1 where they are known only at run time
};
/// Nothing where the program has a stage of another kind. Element-wise stages should stand in their consumers.
std::optional<RowProgram> as_row_program(const BlockProgram& program);

/// How it runs. Every number is a knob.
struct RowPlanNode : Object {
  int32_t threads = 32;     // of a row
  int32_t rows = 1;         // of a block of threads
  int32_t lanes = 1;        // neighbours that a thread takes at once
  int32_t steps = 1;        // of so many neighbours, unrolled
  bool holds_row = false;   // the steps are a whole row: what is read more than once stays in registers
  bool by_columns = false;  // neighbouring threads take neighbouring rows
  bool shifts = false;      // rows begin between vectors: threads take vectors as memory has them
  int32_t parts = 1;        // of a row, each for a block of threads: a second kernel reduces what they found
  static constexpr NodeInfo info{"topi.gpu.RowPlan", &Object::info};
  static void fields(auto f) {
    f("threads", &RowPlanNode::threads);
    f("rows", &RowPlanNode::rows);
    f("lanes", &RowPlanNode::lanes);
    f("steps", &RowPlanNode::steps);
    f("holds_row", &RowPlanNode::holds_row);
    f("by_columns", &RowPlanNode::by_columns);
    f("shifts", &RowPlanNode::shifts);
    f("parts", &RowPlanNode::parts);
  }
};
using RowPlan = Ref<RowPlanNode>;

/// Empty where rows are too short for threads to share them.
RowPlan plan_rows(const RowProgram& program, const GpuMachine& machine);
/// A ScheduleError where the numbers of a plan do not fit the program or each other.
void check_row_plan(const RowProgram& program, const RowPlan& plan, const GpuMachine& machine);

/// One kernel: blocks of threads take `rows` rows at a time, `threads` threads each of them.
///   hold the row; for reductions: partial result of each thread, all threads' results combined; then the elements
/// Where rows have parts: one kernel for the partial results of parts, and one that reduces them.
Stmt row_nest(const RowProgram& program, const RowPlan& plan);

/// An access of a row program: element `base` + row * row_step + element * step of a tensor of one dimension.
struct RowAccess {
  Buffer flat;
  PrimExpr base;
  int64_t row_step = 0, step = 0;
};
/// Elements from row to row, in all tensors alike that have an element for each element of a row; 0 where they differ in that, in
/// their type, or do not begin at a vector.
int64_t shifted_row_step(const RowProgram& program);
/// Nothing where numbers of rows and of elements do not say where it is.
std::optional<RowAccess> row_access(const RowProgram& program, const Buffer& buffer, const Array<PrimExpr>& indices);

}  // namespace tessera::topi
