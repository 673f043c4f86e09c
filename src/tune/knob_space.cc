#include "tune/knob_space.h"

#include <algorithm>
#include <cmath>

#include "kernel/knobs.h"

namespace tessera::tune {
namespace {

constexpr int64_t kMaxUnset = 64;  // of knobs that the rule left at 0
constexpr int64_t kTries = 6;      // before a knob is thought to be fixed

int64_t pick(Random& random, int64_t count) { return static_cast<int64_t>(random() % static_cast<uint64_t>(count)); }

}  // namespace

KnobSpace::KnobSpace(const std::vector<kernel::Decision>& decisions) {
  for (const kernel::Decision& decision : decisions) {
    std::vector<PlanSpace> plans;
    for (const auto& [rule, knobs] : decision.plans) {
      PlanSpace plan{rule->name, {}};
      ObjectRef fresh(rule->knobs->create());
      for (const Field& field : knobs->type()->fields()) {
        if (!kernel::is_knob(field)) continue;
        Knob knob{field.name, kernel::knob_value(knobs.get(), field)};
        knob.least = std::min<int64_t>(1, kernel::knob_value(fresh.get(), field));
        knob.most = field.kind == FieldKind::Bool ? 1 : std::max(kMaxUnset, 4 * knob.own);
        if (field.kind == FieldKind::Bool) knob.least = 0;
        plan.knobs.push_back(std::move(knob));
      }
      plans.push_back(std::move(plan));
    }
    decisions_.push_back(std::move(plans));
  }
}

Point::Decided KnobSpace::start(size_t decision, size_t plan) const {
  Point::Decided out{plan, {}};
  for (const Knob& knob : decisions_[decision][plan].knobs) out.values.push_back(knob.own);
  return out;
}

Point KnobSpace::own() const {
  Point out;
  for (size_t i = 0; i < decisions_.size(); ++i) out.decisions.push_back(start(i, 0));
  return out;
}

std::vector<Point> KnobSpace::other_rules() const {
  std::vector<Point> out;
  for (size_t i = 0; i < decisions_.size(); ++i)
    for (size_t plan = 1; plan < decisions_[i].size(); ++plan) {
      out.push_back(own());
      out.back().decisions[i] = start(i, plan);
    }
  return out;
}

void KnobSpace::move_knob(Point& point, size_t decision, Random& random) const {
  Point::Decided& decided = point.decisions[decision];
  const PlanSpace& plan = decisions_[decision][decided.plan];
  std::vector<size_t> open;
  for (size_t i = 0; i < plan.knobs.size(); ++i)
    if (plan.knobs[i].tried < kTries || plan.knobs[i].fitted > 0) open.push_back(i);
  if (open.empty()) return;
  const size_t index = open[static_cast<size_t>(pick(random, static_cast<int64_t>(open.size())))];
  const Knob& knob = plan.knobs[index];
  int64_t& value = decided.values[index];
  std::vector<int64_t> near{value - 2, value - 1, value + 1, value + 2, value / 2, value * 2, value * 3 / 2, knob.own};
  std::erase_if(near, [&](int64_t each) { return each < knob.least || each > knob.most || each == value; });
  if (near.empty()) return;
  value = near[static_cast<size_t>(pick(random, static_cast<int64_t>(near.size())))];
  point.moves.push_back({decision, decided.plan, index});
}

Point KnobSpace::moved(const Point& from, Random& random) const {
  constexpr int64_t kRuleEvery = 12, kSecondEvery = 3;
  Point out = from;
  out.moves.clear();
  const auto at = static_cast<size_t>(pick(random, static_cast<int64_t>(out.decisions.size())));
  if (decisions_[at].size() > 1 && pick(random, kRuleEvery) == 0) {
    out.decisions[at] = start(at, static_cast<size_t>(pick(random, static_cast<int64_t>(decisions_[at].size()))));
    return out;
  }
  const int64_t moves = pick(random, kSecondEvery) == 0 ? 2 : 1;
  for (int64_t i = 0; i < moves; ++i) move_knob(out, at, random);
  return out;
}

void KnobSpace::note(const Point& point, bool fits) {
  for (const Point::Move& move : point.moves) {
    Knob& knob = decisions_[move.decision][move.plan].knobs[move.knob];
    ++knob.tried;
    knob.fitted += fits;
  }
}

kernel::RecordedPlans KnobSpace::plans(const Point& point) const {
  kernel::RecordedPlans out;
  for (size_t i = 0; i < point.decisions.size(); ++i) {
    const PlanSpace& plan = decisions_[i][point.decisions[i].plan];
    Map<String, ObjectRef> knobs;
    for (size_t k = 0; k < plan.knobs.size(); ++k)
      knobs.set(plan.knobs[k].name, number_boxes.box_int(point.decisions[i].values[k]));
    out.push_back(Array<ObjectRef>{String(plan.rule), knobs});
  }
  return out;
}

std::optional<Point> KnobSpace::find(const kernel::RecordedPlans& plans) const {
  if (plans.size() != decisions_.size()) return {};
  Point out;
  for (size_t i = 0; i < plans.size(); ++i) {
    const std::string rule = kernel::rule_of(plans[i]).str();
    size_t plan = 0;
    while (plan < decisions_[i].size() && decisions_[i][plan].rule != rule) ++plan;
    if (plan == decisions_[i].size()) return {};
    Point::Decided decided = start(i, plan);
    const Map<String, ObjectRef> values = kernel::knobs_of(plans[i]);
    for (size_t k = 0; k < decided.values.size(); ++k)
      if (ObjectRef value = values.get_or_null(decisions_[i][plan].knobs[k].name))
        number_boxes.unbox_int(value.get(), &decided.values[k]);
    out.decisions.push_back(std::move(decided));
  }
  return out;
}

std::vector<double> KnobSpace::features(const Point& point) const {
  std::vector<double> out{1};
  for (size_t i = 0; i < decisions_.size(); ++i)
    for (size_t plan = 0; plan < decisions_[i].size(); ++plan) {
      const bool is_taken = point.decisions[i].plan == plan;
      out.push_back(is_taken);
      for (size_t k = 0; k < decisions_[i][plan].knobs.size(); ++k) {
        const double value = is_taken ? std::log2(1.0 + static_cast<double>(point.decisions[i].values[k])) : 0;
        out.push_back(value);
        out.push_back(value * value);
      }
    }
  return out;
}

}  // namespace tessera::tune
