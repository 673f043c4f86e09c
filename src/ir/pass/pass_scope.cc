#include "ir/pass/pass_scope.h"

#include <utility>
#include <vector>

#include "base/error.h"

namespace tessera {
namespace {

thread_local int depth = 0;
thread_local std::vector<void (*)()> endings;

}  // namespace

PassScope::PassScope() { ++depth; }

PassScope::~PassScope() {
  if (--depth > 0) return;
  for (auto* last : std::exchange(endings, {})) last();
}

bool PassScope::is_open() { return depth > 0; }

void PassScope::at_end(void (*last)()) {
  ICHECK(is_open()) << "no pass runs on this thread";
  endings.push_back(last);
}

}  // namespace tessera
