// All rule tables, in the order in which they are tried.

#include "arith/rules/dsl.h"

namespace tessera::arith {

const RuleSet& scalar_rules() {
  static const auto* rules = [] {
    std::vector<Rule> all;
    for (auto* table : {sum_rules, product_rules, floor_rules, trunc_rules, min_max_rules, equality_rules, order_rules,
                        logic_rules, select_rules})
      for (const Rule& rule : table()) all.push_back(rule);
    for (auto* table : {rounded_sum_rules, rounded_order_rules, rounded_min_max_rules})
      for (Rounding by : {kFloor, kTrunc})
        for (const Rule& rule : table(by)) all.push_back(rule);
    return new RuleSet(std::move(all));
  }();
  return *rules;
}

const RuleSet& vector_rules() {
  static const auto* rules = new RuleSet(ramp_rules());
  return *rules;
}

}  // namespace tessera::arith
