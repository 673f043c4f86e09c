#pragma once
// A cost model that is learned while tuning: ridge regression, which is enough to rank neighbours of a plan.

#include <cstddef>
#include <vector>

namespace tessera::tune {

class LinearModel {
 public:
  /// Learns `target` from features, all rows of one length.
  void fit(const std::vector<std::vector<double>>& features, const std::vector<double>& target);
  /// 0 before anything was learned.
  double predict(const std::vector<double>& features) const;

 private:
  std::vector<double> weights_, means_, scales_;
};

}  // namespace tessera::tune
