#include "schedule/scope.h"

#include "ir/prim_ops.h"
#include "ir/rewrite.h"
#include "schedule/checks.h"
#include "schedule/refusal.h"
#include "schedule/region.h"
#include "schedule/why_not.h"

namespace tessera::schedule {
namespace {

std::vector<const For*> loops_behind(const Place& place, size_t count) {
  std::vector<const For*> loops = place.loops();
  loops.erase(loops.begin(), loops.begin() + static_cast<long>(count));
  return loops;
}

bool is_reduced_by(const Place& block, const For* loop) {
  for (size_t i = 0; i < block.block()->iter_vars.size(); ++i)
    if (block.block()->iter_vars[i]->iter_type == IterType::CommReduce &&
        uses_var(block.realize()->iter_values[i], loop->loop_var))
      return true;
  return false;
}

/// What `writer` writes in one iteration of the loops it shares with `reader` holds all that the reader reads.
bool covers(const Place& writer, const BufferRegion& write, const Place& reader, const BufferRegion& read,
            std::string* why_not) {
  std::vector<const For*> common = common_loops(writer, reader);
  const std::string& buffer = write->buffer->name.str();
  for (const For* loop : common)
    if (is_reduced_by(writer, loop))
      return fail(why_not, "block " + named(reader.block()) + " reads " + buffer + " inside loop " +
                               loop->loop_var->name.str() + ", over which block " + named(writer.block()) +
                               " still accumulates it");
  bool is_guarded = !is_one(writer.realize()->predicate);
  if (is_guarded && !is_guard_of_domain(writer))
    return fail(why_not, "block " + named(writer.block()) + " writes " + buffer + " only where its guard " +
                             to_text(writer.realize()->predicate) + " holds");
  arith::Analyzer analyzer;
  for (const For* loop : common) analyzer.bind(loop->loop_var, range_of(loop));
  Array<arith::IntSet> written = exact_box(writer, write, loops_behind(writer, common.size()), analyzer);
  Array<arith::IntSet> wanted = touched(reader, read, loops_behind(reader, common.size()), analyzer);
  std::string unknown = "block " + named(reader.block()) + " reads elements of " + buffer + " that block " +
                        named(writer.block()) + " is not known to have written by then";
  if (!written.defined()) return fail(why_not, unknown);
  auto reaches_down = [&](const arith::IntSet& set, const PrimExpr& low) {
    return set.has_lower_bound() ? analyzer.can_prove(set.min() <= low) : arith::is_neg_inf(set.min());
  };
  auto reaches_up = [&](const arith::IntSet& set, const PrimExpr& high) {
    return set.has_upper_bound() ? analyzer.can_prove(set.max() >= high) : arith::is_pos_inf(set.max());
  };
  for (size_t i = 0; i < wanted.size(); ++i) {
    PrimExpr first = make_zero(write->buffer->shape[i].dtype()), last = write->buffer->shape[i] - 1;
    arith::IntSet domain = is_guarded ? domain_box(writer, write->region[i], analyzer) : arith::IntSet::everything();
    for (const arith::IntSet& set : {arith::IntSet(written[i]), domain}) {
      bool low = reaches_down(set, first) || (wanted[i].has_lower_bound() && reaches_down(set, wanted[i].min()));
      bool high = reaches_up(set, last) || (wanted[i].has_upper_bound() && reaches_up(set, wanted[i].max()));
      if (!low || !high) return fail(why_not, unknown);
    }
  }
  return true;
}

/// The blocks of a scope in the order of the program, each with its path from the scope's body.
struct Order {
  std::vector<Place> blocks;

  Order(const BlockRealize* scope, const GlobalVar& function) : blocks(blocks_below(scope->block->body, function)) {}
  size_t position(const BlockNode* block) const {
    for (size_t i = 0; i < blocks.size(); ++i)
      if (blocks[i].block() == block) return i;
    ICHECK(false) << "the block stands in its scope";
    return 0;
  }
};

bool is_covered(const Order& order, size_t reader, std::string* why_not) {
  const Place& self = order.blocks[reader];
  for (const BufferRegion& read : self.block()->reads) {
    bool is_written = false, is_covered = false;
    std::string reason;
    for (size_t i = 0; i < order.blocks.size() && !is_covered; ++i) {
      const Place& writer = order.blocks[i];
      if (i == reader) continue;
      for (const BufferRegion& write : writer.block()->writes) {
        if (!write->buffer.same_as(read->buffer)) continue;
        is_written = true;
        if (i < reader) is_covered |= covers(writer, write, self, read, &reason);
        else if (reason.empty())
          reason = "block " + named(self.block()) + " reads " + read->buffer->name.str() + " before block " +
                   named(writer.block()) + " writes it";
      }
    }
    if (is_written && !is_covered) return fail(why_not, reason);
  }
  return true;
}

bool is_war(const BlockNode* reader, const BlockNode* writer, std::string* why_not) {
  for (const BufferRegion& read : reader->reads)
    if (writes_buffer(writer, read->buffer) && !writes_buffer(reader, read->buffer))
      return !fail(why_not, "block " + named(writer) + " overwrites " + read->buffer->name.str() + ", which block " +
                                named(reader) + " has read");
  return false;
}

}  // namespace

std::vector<BlockDependency> dependencies(const BlockRealize* scope, const GlobalVar& function) {
  std::vector<BlockDependency> out;
  std::vector<Place> blocks = blocks_below(scope->block->body, function);
  for (size_t to = 0; to < blocks.size(); ++to)
    for (size_t from = 0; from < to; ++from) {
      const BlockNode *earlier = blocks[from].block(), *later = blocks[to].block();
      auto add = [&](const Buffer& buffer, DepKind kind) { out.push_back({blocks[from], blocks[to], kind, buffer}); };
      for (const BufferRegion& write : earlier->writes) {
        if (reads_buffer(later, write->buffer)) add(write->buffer, DepKind::RAW);
        if (writes_buffer(later, write->buffer)) add(write->buffer, DepKind::WAW);
      }
      for (const BufferRegion& read : earlier->reads)
        if (writes_buffer(later, read->buffer) && !writes_buffer(earlier, read->buffer))
          add(read->buffer, DepKind::WAR);
    }
  return out;
}

bool is_guard_of_domain(const Place& place) {
  const BlockRealize* realize = place.realize();
  if (is_one(realize->predicate)) return true;
  arith::Analyzer analyzer;
  for (const For* loop : place.loops()) analyzer.bind(loop->loop_var, range_of(loop));
  PrimExpr inside = bool_imm(true);
  for (size_t i = 0; i < realize->iter_values.size(); ++i) {
    Range dom = realize->block->iter_vars[i]->dom;
    inside = logical_and(
        inside, logical_and(realize->iter_values[i] >= dom->min, realize->iter_values[i] < dom->min + dom->extent));
  }
  auto known = analyzer.assume(inside);
  std::vector<PrimExpr> conditions{realize->predicate};
  while (!conditions.empty()) {
    PrimExpr condition = conditions.back();
    conditions.pop_back();
    if (auto* both = condition.as<And>()) {
      conditions.push_back(both->a);
      conditions.push_back(both->b);
    } else if (!analyzer.can_prove(condition)) {
      return false;
    }
  }
  return true;
}

void require_domain_guard(const Place& block) {
  if (!is_guard_of_domain(block))
    throw Refusal(block.block()) << "block " << quoted(block.block()->name_hint) << " runs only where its guard "
                                 << block.realize()->predicate
                                 << " holds, which says more than that its axes are inside their domains";
}

bool is_region_covered(const Place& reader, std::string* why_not) {
  const BlockRealize* scope = reader.scope();
  if (!scope) return true;
  Order order(scope, reader.function);
  return is_covered(order, order.position(reader.block()), why_not);
}

bool is_covered_around(const Place& place, std::string* why_not) {
  const BlockRealize* scope = place.scope();
  if (!scope) return true;
  Order order(scope, place.function);
  for (size_t i = 0; i < order.blocks.size(); ++i) {
    const BlockNode* other = order.blocks[i].block();
    bool is_concerned = other == place.block();
    for (const BufferRegion& write : place.block()->writes) is_concerned |= reads_buffer(other, write->buffer);
    if (is_concerned && !is_covered(order, i, why_not)) return false;
  }
  return true;
}

bool is_stage_pipeline(const BlockRealize* scope, const GlobalVar& function, std::string* why_not) {
  Order order(scope, function);
  for (size_t i = 0; i < order.blocks.size(); ++i) {
    for (size_t j = 0; j < i; ++j)
      if (is_war(order.blocks[j].block(), order.blocks[i].block(), why_not)) return false;
    if (!is_covered(order, i, why_not)) return false;
  }
  return true;
}

void require_stage(const Place& place) {
  const BlockRealize* scope = place.scope();
  if (!scope) return;
  std::string why_not;
  Order order(scope, place.function);
  size_t own = order.position(place.block());
  bool is_stage = true;
  for (size_t i = 0; i < order.blocks.size() && is_stage; ++i) {
    const BlockNode* other = order.blocks[i].block();
    if (i < own) is_stage = !is_war(other, place.block(), &why_not);
    if (i > own) is_stage = !is_war(place.block(), other, &why_not);
  }
  if (is_stage && is_covered_around(place, &why_not)) return;
  throw Refusal(scope->block.get()) << "The scope " << quoted(scope->block->name_hint)
                                    << " is not a stage pipeline around block " << quoted(place.block()->name_hint)
                                    << ": " << why_not;
}

}  // namespace tessera::schedule
