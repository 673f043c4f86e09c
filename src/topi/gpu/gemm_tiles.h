#pragma once
// Tiles of the factors of a contraction in shared memory: where elements are, and who copies them.

#include "topi/cpu/number.h"
#include "topi/gpu/contraction.h"

namespace tessera::topi {

inline constexpr int64_t kChunkBytes = 16;  // that stay together in a tile of a matrix unit

/// A tile of A or of B, of `rows` x `depth` elements (rows of A, columns of B). Its lines are as in memory: along k, or along the
/// rows. Lines of tiles that matrix units read have their chunks of 16 bytes exchanged by line, so that eight lines of one column
/// lie in different banks; others have a pitch that does the same. A tile that is turned lies along k in memory, and along the rows here.
struct SharedTile {
  const GemmOperand* operand = nullptr;
  const GemmAxes* axes = nullptr;  // of the rows
  DataType dtype;
  int64_t rows = 0, depth = 0, lanes = 1;
  bool along_k = true, has_chunks = false, is_turned = false;
  int64_t first = 0;  // element of a stage
  Buffer row_digits;  // of the rows that a thread copies, where they take divisions; in registers

  int64_t line() const { return along_k ? depth : rows; }
  int64_t lines() const { return along_k ? rows : depth; }
  int64_t pitch() const;
  int64_t elements() const { return lines() * pitch(); }
  /// The index in a stage of what has so many lines before it and is at `offset` of its own.
  PrimExpr at(const PrimExpr& line, const PrimExpr& offset) const;
  /// Of element (row, k).
  PrimExpr element(const PrimExpr& row, const PrimExpr& k) const { return along_k ? at(row, k) : at(k, row); }
  /// Lines after which chunks are exchanged as before.
  int64_t chunk_period() const;
};
bool turns(const GemmOperand& operand, const GemmAxes& rows, const GemmPlan& plan);
SharedTile tile_of_a(const GpuContraction& contraction, const GemmPlan& plan);
SharedTile tile_of_b(const GpuContraction& contraction, const GemmPlan& plan);

/// Both tiles in a stage of shared memory, and the copies of all stages.
class SharedStages {
 public:
  SharedStages(const GpuContraction& contraction, const GemmPlan& plan);

  SharedTile a, b;
  Buffer memory;                    // of all stages
  PrimExpr first_tile = number(0);  // along k, of this block of threads

  /// All memory of the stages and their copies.
  std::vector<Buffer> buffers() const;
  /// What is computed once, before the first copy.
  Stmt prepare(const PrimExpr& thread, const PrimExpr& row, const PrimExpr& column) const;

  int64_t stage_elements() const { return a.elements() + b.elements(); }
  /// Where tiles of this block of threads begin: rows of A, columns of B.
  struct TilePosition {
    PrimExpr thread, batch, row, column;
  };
  /// Some of the copies of a thread: those of part `part` of `parts`, as many in each as can be.
  struct Part {
    int64_t part, parts;
  };
  /// What the thread copies of tiles `tile_k` along k to a stage, whose first element is `start`.
  Stmt copy(const TilePosition& position, const PrimExpr& tile_k, const PrimExpr& start,
            Part part = {.part = 0, .parts = 1}) const;
  /// Of a thread, for one stage.
  int64_t copies() const { return copies_of(a) + copies_of(b); }
  /// Of a part of k.
  PrimExpr tiles_along_k() const;

 private:
  /// Copies `from` to `to` of the thread.
  Stmt copy_tile(const SharedTile& tile, const TilePosition& position, const PrimExpr& row, const PrimExpr& first_k,
                 const PrimExpr& start, int64_t from, int64_t to) const;
  Stmt prepare_tile(const SharedTile& tile, const PrimExpr& thread, const PrimExpr& row) const;
  int64_t copies_of(const SharedTile& tile) const;

  const GpuContraction& contraction_;
  const GemmPlan& plan_;
};

/// What becomes of the last tile along the rows of C, or along its columns, where tiles do not divide them. It begins earlier and is whole
/// where all accesses may begin there: what two tiles compute is the same, and both store it. Else what is beyond the edge is left out.
struct LastTile {
  bool is_guarded = false, begins_earlier = false;
};
LastTile last_tile(const GpuContraction& contraction, const GemmPlan& plan, bool of_columns);

/// Tile `tile` of `down` x `across` of each batch: body(batch, tile along m, tile along n). `group` tiles along m follow each other.
Stmt at_gemm_tile(const PrimExpr& tile, const PrimExpr& down, const PrimExpr& across, int64_t group, bool has_batch,
                  const std::function<Stmt(const PrimExpr& batch, const PrimExpr& row, const PrimExpr& column)>& body);
/// The tile of C that a block of threads computes: body(batch, first row, first column), inside the loop over blocks.
Stmt each_gemm_tile(
    const GpuContraction& contraction, const GemmPlan& plan,
    const std::function<Stmt(const PrimExpr& batch, const PrimExpr& row, const PrimExpr& column)>& body);

/// Results that 16 bytes hold, where neighbours along n are stored together; else 1.
int64_t wide_store_lanes(const GpuContraction& contraction);
/// Elements between rows of results in shared memory, of which a warp has as many as an instruction.
inline int64_t result_pitch(const GemmPlan& plan) { return plan->part_n + 4; }

/// Threads read what they multiply of a tile one step of k ahead: both tiles lie along their rows, so that 16 bytes are neighbours.
bool reads_ahead(const GpuContraction& contraction, const GemmPlan& plan);

/// Bytes of shared memory.
int64_t gemm_shared_bytes(const GpuContraction& contraction, const GemmPlan& plan);

// ---- the two kinds of kernels ----------------------------------------------------------------------------------------
/// Adds up `partials`, the results of each part of k, and stores what becomes of the sums: a kernel of its own.
Stmt gemm_parts_nest(const GpuContraction& contraction, const GemmPlan& plan, const Buffer& partials);
Stmt thread_gemm_nest(const GpuContraction& contraction, const GemmPlan& plan);
Stmt matrix_unit_gemm_nest(const GpuContraction& contraction, const GemmPlan& plan);

// ---- asynchronous copies ---------------------------------------------------------------------------------------------
Stmt commit_copies();
Stmt wait_for_copies(int64_t left);

}  // namespace tessera::topi
