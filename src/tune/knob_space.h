#pragma once
// The space around the plans of a kernel: each decision by one of the rules that fit, each knob near what the rule chose. Which
// values a plan may have is the rule's to say: it rejects the others when it is applied.

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kernel/schedule_rule.h"

namespace tessera::tune {

using Random = std::mt19937_64;

/// Decisions as numbers: by which of its rules each is made, and the values of its knobs.
struct Point {
  struct Decided {
    size_t plan = 0;
    std::vector<int64_t> values;
  };
  /// A knob that was moved to get here.
  struct Move {
    size_t decision, plan, knob;
  };
  std::vector<Decided> decisions;
  std::vector<Move> moves;
};

class KnobSpace {
 public:
  explicit KnobSpace(const std::vector<kernel::Decision>& decisions);

  /// What the rules chose.
  Point own() const;
  /// The same with another rule for one decision, for each that fits.
  std::vector<Point> other_rules() const;
  /// A point near another: one knob moved, or the rule of a decision changed.
  Point moved(const Point& from, Random& random) const;
  kernel::RecordedPlans plans(const Point& point) const;
  /// The point that a record describes; nothing where it is of another space.
  std::optional<Point> find(const kernel::RecordedPlans& plans) const;
  /// Numbers for a cost model: logarithms of knobs and their squares.
  std::vector<double> features(const Point& point) const;

  /// Whether the rules take the point: a knob that never gives a plan that fits is left alone.
  void note(const Point& point, bool fits);

 private:
  struct Knob {
    std::string name;
    int64_t own = 0, least = 0, most = 0;
    int64_t tried = 0, fitted = 0;
  };
  struct PlanSpace {
    std::string rule;
    std::vector<Knob> knobs;
  };
  Point::Decided start(size_t decision, size_t plan) const;
  void move_knob(Point& point, size_t decision, Random& random) const;

  std::vector<std::vector<PlanSpace>> decisions_;
};

}  // namespace tessera::tune
