#include "base/progress.h"

#include <atomic>

namespace tessera {
namespace {

std::atomic<ProgressListener*> listening{nullptr};

}  // namespace

void begin_stage(const std::string& name) {
  if (ProgressListener* listener = listening.load()) listener->stage(name);
}

void report_progress(size_t done, size_t total, const char* unit) {
  if (ProgressListener* listener = listening.load()) listener->advance(done, total, unit);
}

WithProgress::WithProgress(ProgressListener* listener) : before_(listening.exchange(listener)) {}
WithProgress::~WithProgress() { listening.store(before_); }

}  // namespace tessera
