#include "schedule/scope.h"

#include <set>
#include <unordered_map>
#include <unordered_set>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "schedule/checks.h"
#include "schedule/primitive_error.h"
#include "schedule/region.h"
#include "schedule/statements.h"
#include "schedule/why_not.h"
#include "tir/loops/conditions.h"

namespace tessera::schedule {
namespace {

std::vector<const For*> loops_behind(const Cursor& cursor, size_t count) {
  std::vector<const For*> loops = cursor.loops();
  loops.erase(loops.begin(), loops.begin() + static_cast<long>(count));
  return loops;
}

bool is_reduced_by(const Cursor& block, const For* loop) {
  for (size_t i = 0; i < block.block()->iter_vars.size(); ++i)
    if (block.block()->iter_vars[i]->iter_type == IterType::CommReduce &&
        uses_var(block.realize()->iter_values[i], loop->loop_var))
      return true;
  return false;
}

/// What `producer` writes in one iteration of the loops it shares with `consumer` holds all that the consumer reads.
bool covers(const Cursor& producer, const BufferRegion& write, const Cursor& consumer, const BufferRegion& read,
            std::string* why_not) {
  std::vector<const For*> common = common_loops(producer, consumer);
  const std::string& buffer = write->buffer->name.str();
  for (const For* loop : common)
    if (is_reduced_by(producer, loop))
      return fail(why_not, "block " + named(consumer.block()) + " reads " + buffer + " inside loop " +
                               loop->loop_var->name.str() + ", over which block " + named(producer.block()) +
                               " still accumulates it");
  bool is_guarded = !is_one(producer.realize()->predicate);
  if (is_guarded && !is_guard_of_domain(producer))
    return fail(why_not, "block " + named(producer.block()) + " writes " + buffer + " only where its guard " +
                             to_text(producer.realize()->predicate) + " holds");
  arith::Analyzer analyzer;
  for (const For* loop : common) analyzer.bind(loop->loop_var, range_of(loop));
  Array<arith::IntSet> written = exact_box(producer, write, loops_behind(producer, common.size()), analyzer);
  Array<arith::IntSet> wanted = touched(consumer, read, loops_behind(consumer, common.size()), analyzer);
  std::string unknown = "block " + named(consumer.block()) + " reads elements of " + buffer + " that block " +
                        named(producer.block()) + " is not known to have written by then";
  if (!written.defined()) return fail(why_not, unknown);
  auto reaches_down = [&](const arith::IntSet& set, const PrimExpr& low) {
    return set.has_lower_bound() ? analyzer.can_prove(set.min() <= low) : arith::is_neg_inf(set.min());
  };
  auto reaches_up = [&](const arith::IntSet& set, const PrimExpr& high) {
    return set.has_upper_bound() ? analyzer.can_prove(set.max() >= high) : arith::is_pos_inf(set.max());
  };
  for (size_t i = 0; i < wanted.size(); ++i) {
    PrimExpr first = make_zero(write->buffer->shape[i].dtype()), last = write->buffer->shape[i] - 1;
    arith::IntSet domain = is_guarded ? domain_box(producer, write->region[i], analyzer) : arith::IntSet::everything();
    for (const arith::IntSet& set : {arith::IntSet(written[i]), domain}) {
      bool low = reaches_down(set, first) || (wanted[i].has_lower_bound() && reaches_down(set, wanted[i].min()));
      bool high = reaches_up(set, last) || (wanted[i].has_upper_bound() && reaches_up(set, wanted[i].max()));
      if (!low || !high) return fail(why_not, unknown);
    }
  }
  return true;
}

using Buffers = std::unordered_set<const Object*>;

bool touches(const Array<BufferRegion>& regions, const Buffers& buffers) {
  for (const BufferRegion& region : regions)
    if (buffers.count(region->buffer.get())) return true;
  return false;
}

void add_buffers(const Array<BufferRegion>& regions, Buffers* out) {
  for (const BufferRegion& region : regions) out->insert(region->buffer.get());
}

/// Blocks of a scope in the order of the program, each with its path from the scope's body, and who writes what.
struct Order {
  std::vector<Cursor> blocks;
  std::unordered_map<const Object*, std::vector<size_t>> producers;

  explicit Order(std::vector<Cursor> all) : blocks(std::move(all)) {
    for (size_t i = 0; i < blocks.size(); ++i)
      for (const BufferRegion& write : blocks[i].block()->writes) {
        std::vector<size_t>& of_buffer = producers[write->buffer.get()];
        if (of_buffer.empty() || of_buffer.back() != i) of_buffer.push_back(i);
      }
  }
  /// The `consumers` and the blocks that write what they read.
  static Order around(const BlockRealize* scope, const GlobalVar& function,
                      const std::unordered_set<const BlockNode*>& consumers) {
    Buffers read;
    for (const BlockNode* consumer : consumers) add_buffers(consumer->reads, &read);
    return Order(blocks_where(scope->block->body, function, [&](const BlockNode* block) {
      return consumers.count(block) > 0 || touches(block->writes, read);
    }));
  }
};

bool is_covered(const Order& order, size_t consumer, std::string* why_not) {
  const Cursor& self = order.blocks[consumer];
  for (const BufferRegion& read : self.block()->reads) {
    bool is_written = false, is_covered = false;
    std::string reason;
    auto producers = order.producers.find(read->buffer.get());
    if (producers == order.producers.end()) continue;
    for (size_t i : producers->second) {
      const Cursor& producer = order.blocks[i];
      if (i == consumer || is_covered) continue;
      for (const BufferRegion& write : producer.block()->writes) {
        if (!write->buffer.same_as(read->buffer)) continue;
        is_written = true;
        if (i < consumer) is_covered |= covers(producer, write, self, read, &reason);
        else if (reason.empty())
          reason = "block " + named(self.block()) + " reads " + read->buffer->name.str() + " before block " +
                   named(producer.block()) + " writes it";
      }
    }
    if (is_written && !is_covered) return fail(why_not, reason);
  }
  return true;
}

/// Each of the `consumers`, blocks of the scope, is covered.
bool are_covered(const BlockRealize* scope, const GlobalVar& function,
                 const std::unordered_set<const BlockNode*>& consumers, std::string* why_not) {
  Order order = Order::around(scope, function, consumers);
  for (size_t i = 0; i < order.blocks.size(); ++i)
    if (consumers.count(order.blocks[i].block()) && !is_covered(order, i, why_not)) return false;
  return true;
}

bool is_war(const BlockNode* consumer, const BlockNode* producer, std::string* why_not) {
  for (const BufferRegion& read : consumer->reads)
    if (writes_buffer(producer, read->buffer) && !writes_buffer(consumer, read->buffer))
      return !fail(why_not, "block " + named(producer) + " overwrites " + read->buffer->name.str() + ", which block " +
                                named(consumer) + " has read");
  return false;
}

}  // namespace

std::vector<BlockDependency> dependencies(const BlockRealize* scope, const GlobalVar& function) {
  std::vector<BlockDependency> out;
  std::vector<Cursor> blocks = blocks_below(scope->block->body, function);
  std::unordered_map<const Object*, std::set<size_t>> users;  // by buffer, among the blocks before
  for (size_t to = 0; to < blocks.size(); ++to) {
    const BlockNode* later = blocks[to].block();
    std::set<size_t> before;
    for (const Array<BufferRegion>& regions : {later->reads, later->writes})
      for (const BufferRegion& region : regions) {
        const std::set<size_t>& of_buffer = users[region->buffer.get()];
        before.insert(of_buffer.begin(), of_buffer.end());
      }
    for (size_t from : before) {
      const BlockNode* earlier = blocks[from].block();
      auto add = [&](const Buffer& buffer, DepKind kind) { out.push_back({blocks[from], blocks[to], kind, buffer}); };
      for (const BufferRegion& write : earlier->writes) {
        if (reads_buffer(later, write->buffer)) add(write->buffer, DepKind::RAW);
        if (writes_buffer(later, write->buffer)) add(write->buffer, DepKind::WAW);
      }
      for (const BufferRegion& read : earlier->reads)
        if (writes_buffer(later, read->buffer) && !writes_buffer(earlier, read->buffer))
          add(read->buffer, DepKind::WAR);
    }
    for (const Array<BufferRegion>& regions : {later->reads, later->writes})
      for (const BufferRegion& region : regions) users[region->buffer.get()].insert(to);
  }
  return out;
}

bool is_guard_of_domain(const Cursor& cursor) {
  const BlockRealize* realize = cursor.realize();
  if (is_one(realize->predicate)) return true;
  arith::Analyzer analyzer;
  for (const For* loop : cursor.loops()) analyzer.bind(loop->loop_var, range_of(loop));
  PrimExpr inside = bool_imm(true);
  for (size_t i = 0; i < realize->iter_values.size(); ++i) {
    Range dom = realize->block->iter_vars[i]->dom;
    inside = logical_and(
        inside, logical_and(realize->iter_values[i] >= dom->min, realize->iter_values[i] < dom->min + dom->extent));
  }
  auto known = analyzer.assume(inside);
  for (const PrimExpr& condition : loops::conjuncts(realize->predicate))
    if (!analyzer.can_prove(condition)) return false;
  return true;
}

void require_domain_guard(const Cursor& block) {
  if (!is_guard_of_domain(block))
    throw PrimitiveError(block.block()) << "block " << quoted(block.block()->name_hint) << " runs only where its guard "
                                        << block.realize()->predicate
                                        << " holds, which says more than that its axes are inside their domains";
}

bool is_region_covered(const Cursor& consumer, std::string* why_not) {
  const BlockRealize* scope = consumer.scope();
  return !scope || are_covered(scope, consumer.function, {consumer.block()}, why_not);
}

bool is_covered_around(const Cursor& cursor, std::string* why_not) {
  const BlockRealize* scope = cursor.scope();
  if (!scope) return true;
  Buffers written;
  add_buffers(cursor.block()->writes, &written);
  std::unordered_set<const BlockNode*> concerned{cursor.block()};
  for_each_block(scope->block->body, [&](const BlockNode* block) {
    if (touches(block->reads, written)) concerned.insert(block);
  });
  return are_covered(scope, cursor.function, concerned, why_not);
}

bool is_stage_pipeline(const BlockRealize* scope, const GlobalVar& function, std::string* why_not) {
  Order order(blocks_below(scope->block->body, function));
  std::unordered_map<const Object*, const BlockNode*> consumers;  // by buffer, that do not write it
  for (size_t i = 0; i < order.blocks.size(); ++i) {
    const BlockNode* block = order.blocks[i].block();
    for (const BufferRegion& write : block->writes) {
      auto consumer = consumers.find(write->buffer.get());
      if (consumer != consumers.end() && is_war(consumer->second, block, why_not)) return false;
    }
    if (!is_covered(order, i, why_not)) return false;
    for (const BufferRegion& read : block->reads)
      if (!writes_buffer(block, read->buffer)) consumers.emplace(read->buffer.get(), block);
  }
  return true;
}

void require_stage(const Cursor& cursor) {
  const BlockRealize* scope = cursor.scope();
  if (!scope) return;
  std::string why_not;
  bool is_stage = true, is_behind = false;
  for_each_block(scope->block->body, [&](const BlockNode* other) {
    if (!is_stage) return;
    if (other == cursor.block()) is_behind = true;
    else is_stage = is_behind ? !is_war(cursor.block(), other, &why_not) : !is_war(other, cursor.block(), &why_not);
  });
  if (is_stage && is_covered_around(cursor, &why_not)) return;
  throw PrimitiveError(scope->block.get())
      << "The scope " << quoted(scope->block->name_hint) << " is not a stage pipeline around block "
      << quoted(cursor.block()->name_hint) << ": " << why_not;
}

}  // namespace tessera::schedule
