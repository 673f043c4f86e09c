#pragma once
// How the stages of a program are given to the threads of a device: each becomes a kernel.

#include "ir/target/target.h"
#include "topi/block_rule.h"

namespace tessera::topi {

/// Ways to run one stage. Those that give a bool leave the program as it was where they do not fit: whether they do is seen when
/// they are tried.
class StageThreads {
 public:
  StageThreads(schedule::State& state, const Target& target);

  /// A reduction of few results, each of many elements, has one block of threads for each result.
  bool across_threads(const schedule::BlockRef& block);
  /// A reduction that one element-wise stage reads, element by element, is computed in that stage's threads.
  bool in_consumer(const schedule::BlockRef& block);
  /// A reduction that no single stage reads is summed up in a register and then stored.
  bool in_registers(const schedule::BlockRef& block);
  /// A thread for each element, or for each vector of elements where there are many.
  void by_elements(const schedule::BlockRef& block);

 private:
  bool is_long(const schedule::BlockRef& block) const;
  schedule::Cursor outermost(const schedule::BlockRef& block) const;
  schedule::BlockRef only_consumer(const schedule::BlockRef& block) const;
  bool in_threads_of(const schedule::BlockRef& block, const schedule::BlockRef& consumer);
  void start_before_loops(const schedule::BlockRef& block);
  int64_t elements(const schedule::BlockRef& block) const;
  schedule::LoopRef bind(const schedule::BlockRef& block, bool may_vectorize);
  std::vector<schedule::LoopRef> take_threads(std::vector<schedule::LoopRef>* loops);

  schedule::State& state_;
  int64_t threads_;  // of a block of threads, at most
};

}  // namespace tessera::topi
