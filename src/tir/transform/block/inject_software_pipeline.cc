// A loop whose statements are given stages runs the stages of different iterations side by side.
//
//   for i (stage [0, 1]): { copy(P, i); use(P, i) }    =>    copy(P[0], 0)                             the beginning
//                                                            for i in 0 .. n-2: { copy(P[(i+1)%2], i+1); use(P[i%2], i) }
//                                                            use(P[(n-1)%2], n-1)                      the end
//
// A statement of stage s works, in step t of the new loop, on iteration t - s. Memory that belongs to one iteration and
// passes from an earlier stage to a later one gets a copy for each iteration that is under way. Stages listed in
// "software_pipeline_async_stages" only begin their copies (async_scope); what needs the data waits for it.

#include <algorithm>
#include <map>
#include <set>

#include "arith/analyzer.h"
#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/attrs.h"
#include "tir/remap.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

/// One statement of the body: when it runs, and what memory it touches (by data pointer).
struct Part {
  Stmt stmt;
  int64_t stage = 0, order = 0;
  bool is_async = false;
  std::set<const VarNode*> reads, writes;
};

void find_accesses(Part* part) {
  walk(
      part->stmt, [&](const BufferLoad* op) { part->reads.insert(op->buffer->data.get()); },
      [&](const BufferStore* op) { part->writes.insert(op->buffer->data.get()); },
      [&](const Call* op) {
        // An address handed out may be read and written, unless it says otherwise.
        int64_t mask = 3;
        if (is_call(op, "tir.tvm_access_ptr") && as_int(op->args[4])) mask = *as_int(op->args[4]);
        for (const PrimExpr& arg : op->args) {
          auto* var = arg.as<VarNode>();
          if (!var || !var->type_annotation.as<PointerType>()) continue;
          if (mask & 1) part->reads.insert(var);
          if (mask & 2) part->writes.insert(var);
        }
      });
}

std::vector<int64_t> int_list(const For* loop, const char* key) {
  ObjectRef value = loop->annotations.get_or_null(key);
  auto* items = value.as<ArrayNode>();
  std::vector<int64_t> out;
  for (size_t i = 0; items && i < items->items.size(); ++i) {
    int64_t number = 0;
    if (!number_boxes.unbox_int(items->items[i].get(), &number)) items = nullptr;
    else out.push_back(number);
  }
  if (!items)
    throw Error(ValueError) << "loop " << loop->loop_var->name << ": " << key << " has to be a list of numbers, got "
                            << to_text(value);
  return out;
}

/// A buffer with one more dimension in front: the copy for an iteration is the iteration's number modulo `copies`.
struct Versions {
  Buffer original, buffer;
  int64_t copies;
  PrimExpr size;  // elements of one copy
};

class Pipeline {
 public:
  explicit Pipeline(const For* loop) : loop_(loop) {
    if (loop->kind != LoopKind::Serial)
      throw Error(ValueError) << "loop " << loop->loop_var->name << ": only a serial loop can be a software pipeline";
    collect_parts();
    check_order();
  }

  Stmt build() {
    make_versions();
    for (Part& part : parts_) part.stmt = versioned(part.stmt);
    std::vector<const Part*> by_order;
    for (const Part& part : parts_) by_order.push_back(&part);
    std::sort(by_order.begin(), by_order.end(), [](auto* a, auto* b) { return a->order < b->order; });

    PrimExpr depth = make_const(loop_->extent.dtype(), last_stage_);
    PrimExpr begin = loop_->min, end = loop_->min + loop_->extent;
    // A loop shorter than the pipeline is deep ends before it is full.
    PrimExpr full = begin + depth;
    PrimExpr drain = analyzer_.can_prove(loop_->extent >= depth) ? end : max(end, full);
    can_overlap_ = drain.same_as(end);
    std::vector<Stmt> out{emit(by_order, begin, full, LoopKind::Unrolled), emit(by_order, full, end, LoopKind::Serial)};
    can_overlap_ = false;
    out.push_back(emit(by_order, drain, end + depth, LoopKind::Unrolled));
    return in_block(sequence(out));
  }

 private:
  void collect_parts() {
    Stmt body = loop_->body;
    if (auto* realize = body.as<BlockRealize>(); realize && realize->block->iter_vars.empty()) {
      if (!is_one(realize->predicate))
        throw Error(ValueError) << "loop " << loop_->loop_var->name
                                << ": the body of a software pipeline has a condition";
      allocations_ = realize->block->alloc_buffers;
      body = realize->block->body;
    }
    std::vector<Stmt> stmts;
    if (auto* seq = body.as<SeqStmt>()) stmts.assign(seq->seq.begin(), seq->seq.end());
    else stmts.push_back(body);
    std::vector<int64_t> stages = int_list(loop_, attr::kSoftwarePipelineStage);
    std::vector<int64_t> orders = int_list(loop_, attr::kSoftwarePipelineOrder);
    std::vector<int64_t> async;
    if (loop_->annotations.count(attr::kSoftwarePipelineAsyncStages))
      async = int_list(loop_, attr::kSoftwarePipelineAsyncStages);
    if (stages.size() != stmts.size() || orders.size() != stmts.size())
      throw Error(ValueError) << "loop " << loop_->loop_var->name << " has " << stmts.size() << " statements, but "
                              << attr::kSoftwarePipelineStage << " has " << stages.size() << " numbers and "
                              << attr::kSoftwarePipelineOrder << " has " << orders.size();
    std::vector<int64_t> sorted = orders;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < sorted.size(); ++i)
      if (sorted[i] != static_cast<int64_t>(i))
        throw Error(ValueError) << "loop " << loop_->loop_var->name << ": " << attr::kSoftwarePipelineOrder
                                << " has to give each of the " << stmts.size() << " statements a position of its own";
    for (size_t i = 0; i < stmts.size(); ++i) {
      if (stages[i] < 0 || stages[i] > 64)
        throw Error(ValueError) << "loop " << loop_->loop_var->name << ": a stage lies between 0 and 64, got "
                                << stages[i];
      Part part{.stmt = stmts[i], .stage = stages[i], .order = orders[i]};
      part.is_async = std::find(async.begin(), async.end(), stages[i]) != async.end();
      find_accesses(&part);
      last_stage_ = std::max(last_stage_, stages[i]);
      parts_.push_back(std::move(part));
    }
  }

  bool is_own(const VarNode* memory) const {
    return std::any_of(allocations_.begin(), allocations_.end(),
                       [&](const Buffer& buffer) { return buffer->data.get() == memory; });
  }

  /// What one statement leaves for a later one has to be there when that runs.
  void check_order() const {
    for (size_t i = 0; i < parts_.size(); ++i)
      for (size_t j = i + 1; j < parts_.size(); ++j) {
        const Part &first = parts_[i], &second = parts_[j];
        const VarNode* memory = common(first, second);
        if (!memory) continue;
        bool is_kept = first.stage < second.stage || (first.stage == second.stage && first.order < second.order);
        if (!is_kept)
          throw Error(ValueError) << "loop " << loop_->loop_var->name << ": statement " << j << " uses " << memory->name
                                  << " after statement " << i << ", but its stage (" << second.stage << " after "
                                  << first.stage << ") or its position in the order (" << second.order << " after "
                                  << first.order << ") comes before";
        if (first.stage != second.stage && !is_own(memory))
          throw Error(ValueError) << "loop " << loop_->loop_var->name << ": " << memory->name << " passes from stage "
                                  << first.stage << " to " << second.stage
                                  << " and is allocated outside the loop, so iterations would write over one another; "
                                     "let a block inside the loop allocate it";
      }
  }

  /// Memory that one writes and the other touches.
  static const VarNode* common(const Part& a, const Part& b) {
    for (const VarNode* memory : a.writes)
      if (b.reads.count(memory) || b.writes.count(memory)) return memory;
    for (const VarNode* memory : a.reads)
      if (b.writes.count(memory)) return memory;
    return nullptr;
  }

  void make_versions() {
    for (const Buffer& buffer : allocations_) {
      int64_t copies = copies_of(buffer->data.get());
      if (copies == 1) {
        buffers_.push_back(buffer);
        continue;
      }
      PrimExpr size = make_const(buffer->index_dtype(), 1);
      for (const PrimExpr& extent : buffer->shape) size = size * extent;
      BufferNode node(*buffer.get());
      node.shape = {make_const(buffer->index_dtype(), copies)};
      for (const PrimExpr& extent : buffer->shape) node.shape.push_back(extent);
      if (!buffer->strides.empty()) {
        size = buffer->strides[0] * buffer->shape[0];
        node.strides = {size};
        for (const PrimExpr& stride : buffer->strides) node.strides.push_back(stride);
      }
      Buffer widened = make(std::move(node));
      versions_.push_back({buffer, widened, copies, size});
      buffers_.push_back(widened);
    }
  }

  /// One for each stage between the first that writes and the last that reads, both counted. Two are one too many when in
  /// every step the consumer comes before the producer.
  int64_t copies_of(const VarNode* memory) const {
    int64_t defined = INT64_MAX, used = -1;
    for (const Part& part : parts_) {
      if (part.writes.count(memory)) defined = std::min(defined, part.stage);
      if (part.reads.count(memory)) used = std::max(used, part.stage);
    }
    if (used < 0 || defined > used) return 1;
    int64_t copies = used - defined + 1;
    if (copies != 2) return copies;
    for (const Part& producer : parts_)
      for (const Part& consumer : parts_)
        if (producer.writes.count(memory) && consumer.reads.count(memory) && producer.order < consumer.order &&
            producer.stage < consumer.stage)
          return 2;
    return 1;
  }

  const Versions* versions_of(const VarNode* memory) const {
    for (const Versions& each : versions_)
      if (each.original->data.get() == memory) return &each;
    return nullptr;
  }

  PrimExpr which(const Versions& versions) const {
    PrimExpr iteration = cast(versions.buffer->index_dtype(), loop_->loop_var - loop_->min);
    return floormod(iteration, make_const(iteration.dtype(), versions.copies));
  }

  Stmt versioned(const Stmt& stmt) const {
    auto indices = [this](const Versions& versions, const Array<PrimExpr>& inside) {
      Array<PrimExpr> out{which(versions)};
      for (const PrimExpr& index : inside) out.push_back(index);
      return out;
    };
    return rewrite(
        stmt,
        [&](Rewriter& self, const BufferLoad* op) -> PrimExpr {
          const Versions* versions = versions_of(op->buffer->data.get());
          if (!versions) return self.children(op);
          return make_load(versions->buffer, indices(*versions, self(op->indices)));
        },
        [&](Rewriter& self, const BufferStore* op) -> Stmt {
          const Versions* versions = versions_of(op->buffer->data.get());
          Ref<BufferStore> out = self.children(op);
          if (!versions) return out;
          return make(BufferStore{
              .buffer = versions->buffer, .value = out->value, .indices = indices(*versions, out->indices)});
        },
        [&](Rewriter& self, const BufferRegionNode* op) -> BufferRegion {
          const Versions* versions = versions_of(op->buffer->data.get());
          Ref<BufferRegionNode> out = self.children(op);
          if (!versions) return out;
          PrimExpr at = which(*versions);
          Array<Range> region{make_range(at, make_const(at.dtype(), 1))};
          for (const Range& range : out->region) region.push_back(range);
          return make(BufferRegionNode{.buffer = versions->buffer, .region = region});
        },
        [&](Rewriter& self, const Call* op) -> PrimExpr {
          if (!is_call(op, "tir.tvm_access_ptr")) return self.children(op);
          const Versions* versions = versions_of(op->args[1].as<VarNode>());
          if (!versions) return self.children(op);
          Call out(*op);
          out.args.set(2, self(op->args[2]) + cast(op->args[2].dtype(), which(*versions) * versions->size));
          return make(std::move(out));
        },
        [&](const VarNode* op) -> PrimExpr {
          if (versions_of(op))
            throw Error(NotImplementedError)
                << "loop " << loop_->loop_var->name << ": the address of " << op->name
                << ", which needs a copy for each iteration under way, is handed to a call; use its access_ptr";
          return PrimExpr(op);
        });
  }

  /// Steps [begin, end) of the pipeline.
  Stmt emit(const std::vector<const Part*>& parts, const PrimExpr& begin, const PrimExpr& end, LoopKind kind) {
    PrimExpr extent = analyzer_.simplify(end - begin);
    if (is_zero(extent) || analyzer_.can_prove(extent <= make_zero(extent.dtype()))) return make_nop();
    Var step = make_var(loop_->loop_var->name, loop_->loop_var->dtype);
    bool is_single = is_one(extent);
    if (!is_single) analyzer_.bind(step, make_range(loop_->min, extent), true);
    PrimExpr now = is_single ? begin : step + (begin - loop_->min);  // the loop counts from where it did
    std::vector<Stmt> out;
    for (const Part* part : parts) {
      PrimExpr iteration = analyzer_.simplify(now - make_const(step->dtype, part->stage));
      PrimExpr inside =
          analyzer_.simplify(logical_and(loop_->min <= iteration, iteration < loop_->min + loop_->extent));
      if (is_zero(inside)) continue;
      Stmt body = copy_for(part->stmt, iteration);
      if (part->is_async) body = asynchronous(body, part->stage);
      body = waiting(part, body);
      out.push_back(is_one(inside) ? body : make(IfThenElse{.condition = inside, .then_case = body}));
    }
    Stmt body = sequence(out);
    if (is_single || is_nop(body)) return body;
    For loop(*loop_);
    loop.loop_var = step;
    loop.extent = extent;
    loop.kind = kind;
    loop.body = body;
    for (const char* key :
         {attr::kSoftwarePipelineStage, attr::kSoftwarePipelineOrder, attr::kSoftwarePipelineAsyncStages})
      loop.annotations.erase(key);
    return make(std::move(loop));
  }

  /// The statement for one iteration, with definitions of its own.
  Stmt copy_for(const Stmt& stmt, const PrimExpr& iteration) {
    Var loop_var = loop_->loop_var;
    Remap copy([&](const Var& var) { return var.same_as(loop_var) ? iteration : PrimExpr(); });
    copy.renew_definitions();
    return rewrite(copy(stmt), [this](Rewriter& self, const FloorMod* op) -> PrimExpr {
      return analyzer_.simplify(self.children(op));
    });
  }

  static Stmt attribute(const char* key, const PrimExpr& value, Stmt body) {
    return make(
        AttrStmt{.node = int_imm(DataType::Int(32), 0), .attr_key = key, .value = value, .body = std::move(body)});
  }

  static Stmt asynchronous(const Stmt& body, int64_t stage) {
    return attribute(attr::kAsyncCommitQueueScope, make_const(DataType::Int(32), stage),
                     attribute(attr::kAsyncScope, 1, body));
  }

  /// A statement that uses what an asynchronous stage fetches waits until its iteration's group has come; groups that were
  /// begun later, one in each step in between, may still be under way while there are such.
  Stmt waiting(const Part* part, Stmt body) const {
    std::map<int64_t, int64_t> waits;  // of each stage's groups, how many may stay under way
    for (const Part& producer : parts_) {
      if (!producer.is_async || &producer == part || producer.stage >= part->stage) continue;
      const VarNode* memory = common(producer, *part);
      if (!memory) continue;
      int64_t later = 0;
      for (const Part& each : parts_) {
        if (!each.is_async || each.stage != producer.stage) continue;
        // Steps between the producer's of this iteration and now, and this step if the producer came first in it.
        later += part->stage - producer.stage - 1 + (each.order < part->order ? 1 : 0);
        if (each.order > producer.order) ++later;
      }
      int64_t& left = waits.try_emplace(producer.stage, INT64_MAX).first->second;
      left = std::min(left, can_overlap_ ? later : 0);
    }
    for (auto it = waits.rbegin(); it != waits.rend(); ++it)
      body = attribute(attr::kAsyncWaitQueueScope, make_const(DataType::Int(32), it->first),
                       attribute(attr::kAsyncWaitInflightCount, make_const(DataType::Int(32), it->second), body));
    return body;
  }

  Stmt in_block(const Stmt& body) const {
    if (buffers_.empty()) return body;
    BlockNode block;
    block.name_hint = "";
    block.body = body;
    block.alloc_buffers = buffers_;
    return make(BlockRealize{.iter_values = {}, .predicate = bool_imm(true), .block = make(std::move(block))});
  }

  const For* loop_;
  arith::Analyzer analyzer_;
  Array<Buffer> allocations_, buffers_;
  std::vector<Part> parts_;
  std::vector<Versions> versions_;
  int64_t last_stage_ = 0;
  bool can_overlap_ = false;  // every step so far has begun its copies
};

Stmt inject(const Stmt& body) {
  Rewriter rewriter;
  rewriter.share_results(false);
  rewriter.on([](Rewriter& self, const For* op) -> Stmt {
    Ref<For> loop = self.children(op);
    bool has_stage = loop->annotations.count(attr::kSoftwarePipelineStage) > 0;
    bool has_order = loop->annotations.count(attr::kSoftwarePipelineOrder) > 0;
    if (!has_stage && !has_order) return loop;
    if (!has_stage || !has_order)
      throw Error(ValueError) << "loop " << op->loop_var->name << ": a software pipeline has both "
                              << attr::kSoftwarePipelineStage << " and " << attr::kSoftwarePipelineOrder;
    return Pipeline(loop.get()).build();
  });
  return rewriter(body);
}

}  // namespace

PrimFunc inject_software_pipeline(const PrimFunc& function) {
  return is_from_te(function) ? function : with_body(function, inject(function->body));
}

}  // namespace tessera
