#pragma once
// A variable that has another value for a while.

#include <utility>

namespace tessera {

/// Gives a variable another value while it lives.
template <class T>
class Restore {
 public:
  Restore(T& variable, T now) : variable_(variable), before_(std::exchange(variable, std::move(now))) {}
  ~Restore() { variable_ = std::move(before_); }
  Restore(const Restore&) = delete;
  Restore& operator=(const Restore&) = delete;

 private:
  T& variable_;
  T before_;
};

}  // namespace tessera
