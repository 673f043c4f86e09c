#include "runtime/registry.h"
#include "schedule/checks.h"
#include "tune/meta_schedule/analysis.h"
#include "tune/meta_schedule/rule/rules.h"

namespace tessera::meta_schedule {
namespace {

enum class Inlining { None, IntoConsumer, IntoProducer };

/// What the rule says of the block apart from where it could go.
bool may_inline(const AutoInlineNode& rule, const Cursor& cursor) {
  if (!rule.disallow_op.empty() && has_op(cursor.stmt(), rule.disallow_op)) return false;
  if (rule.disallow_if_then_else && has_condition(cursor.realize())) return false;
  for (const BufferRegion& read : cursor.block()->reads) {
    ReadPattern pattern = read_pattern(read, cursor.block()->writes[0]);
    if ((rule.require_injective && !pattern.injective) || (rule.require_ordered && !pattern.ordered)) return false;
  }
  return true;
}

Inlining inlining_of(const AutoInlineNode& rule, const Schedule& sch, const RV& rv) {
  Cursor cursor = sch->cursor(rv);
  const BlockNode* block = cursor.block();
  if (block->writes.size() != 1) return Inlining::None;
  schedule::BlockRef ref = sch->block(rv);
  auto fits_consumers = [&] {
    return !schedule::get_consumers(sch->state, ref).empty() &&
           is_possible(sch, [&](State& state) { schedule::compute_inline(state, ref); });
  };
  if (rule.inline_const_tensor && block->reads.empty() && fits_consumers()) return Inlining::IntoConsumer;
  if (!is_spatial_function(sch, rv) && !may_inline(rule, cursor)) return Inlining::None;
  auto* word = note_of(block, note::kInlineRule).as<StringNode>();
  if (word && word->text == "disable") return Inlining::None;
  if (rule.into_consumer && fits_consumers()) return Inlining::IntoConsumer;
  if (!rule.into_producer) return Inlining::None;
  auto producers = schedule::get_producers(sch->state, ref);
  if (producers.size() != 1) return Inlining::None;
  Cursor producer = sch->state.find(producers[0]);
  bool is_free = schedule::is_complete(producer) && !has_note(producer.block(), note::kAutoTensorize);
  bool fits = is_free && is_possible(sch, [&](State& state) { schedule::reverse_compute_inline(state, ref); });
  return fits ? Inlining::IntoProducer : Inlining::None;
}

}  // namespace

Array<Schedule> AutoInlineNode::apply(const Schedule& sch, const RV& block) {
  if (is_root(sch->cursor(block))) return {sch};
  Inlining how = inlining_of(*this, sch, block);
  if (how == Inlining::IntoConsumer) Traced(sch).compute_inline(block);
  if (how == Inlining::IntoProducer) Traced(sch).reverse_compute_inline(block);
  return {sch};
}

namespace {
Globals auto_inline_globals{
    {"meta_schedule.ScheduleRuleAutoInline",
     [](bool into_producer, bool into_consumer, bool inline_const_tensor, bool disallow_if_then_else,
        bool require_injective, bool require_ordered, const Array<String>& disallow_op) {
       AutoInlineNode rule;
       rule.into_producer = into_producer;
       rule.into_consumer = into_consumer;
       rule.inline_const_tensor = inline_const_tensor;
       rule.disallow_if_then_else = disallow_if_then_else;
       rule.require_injective = require_injective;
       rule.require_ordered = require_ordered;
       for (const String& op : disallow_op) rule.disallow_op.insert(op.str());
       return ScheduleRule(make(std::move(rule)));
     }}};
}  // namespace
}  // namespace tessera::meta_schedule
