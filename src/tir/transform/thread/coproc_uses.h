#pragma once
// What statements of a program for a coprocessor touch: on the host, and in each queue of the coprocessor.

#include <map>
#include <set>

#include "ir/prim/expr.h"

namespace tessera {

using Memories = std::set<const VarNode*>;
using Token = std::pair<int64_t, int64_t>;  // from one queue to another

inline bool meet(const Memories& a, const Memories& b) {
  for (const VarNode* memory : a)
    if (b.count(memory)) return true;
  return false;
}
inline void unite(Memories* into, const Memories& more) { into->insert(more.begin(), more.end()); }

struct Access {
  Memories reads, writes;
  void add(const Access& other) {
    unite(&reads, other.reads);
    unite(&writes, other.writes);
  }
  bool conflicts(const Access& other) const {
    return meet(writes, other.writes) || meet(writes, other.reads) || meet(reads, other.writes);
  }
};
using Queues = std::map<int64_t, Access>;

/// What a statement touches, and how.
struct Uses {
  Access host;
  Queues queues;   // all work it gives
  Queues pending;  // work that may not be done when it ends
  std::set<Token> tokens;
  std::set<Token> finished;  // the second queue has waited for all that the first was given here and it depends on

  void add(const Uses& other) {
    host.add(other.host);
    for (const auto& [queue, access] : other.queues) queues[queue].add(access);
    for (const auto& [queue, access] : other.pending) pending[queue].add(access);
    tokens.insert(other.tokens.begin(), other.tokens.end());
  }
};

/// What loads, stores and access pointers below `root` touch.
Access access_of(const ObjectRef& root);

}  // namespace tessera
