#include "runtime/cpu/thread_count.h"

#include <sched.h>

#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>

namespace tessera {
namespace {

/// An environment variable for one test; null removes it.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    value ? setenv(name, value, 1) : unsetenv(name);
  }
  ~Environment() { old_.empty() ? unsetenv(name_) : setenv(name_, old_.c_str(), 1); }

 private:
  const char* name_;
  std::string old_;
};

TEST(ThreadCount, ComesFromTheEnvironmentFirst) {
  Environment omp("OMP_NUM_THREADS", "5");
  {
    Environment tvm("TVM_NUM_THREADS", "3");
    EXPECT_EQ(default_thread_count(), 3);
  }
  Environment tvm("TVM_NUM_THREADS", nullptr);
  EXPECT_EQ(default_thread_count(), 5);
}

TEST(ThreadCount, IgnoresWhatIsNoNumber) {
  Environment omp("OMP_NUM_THREADS", nullptr), none("TVM_NUM_THREADS", nullptr);
  int usual = default_thread_count();
  for (const char* value : {"", "many", "0", "-2", "3x", "99999999999999"}) {
    Environment tvm("TVM_NUM_THREADS", value);
    EXPECT_EQ(default_thread_count(), usual) << value;
  }
}

TEST(ThreadCount, NeverPassesTheCpusTheProcessMayUse) {
  Environment omp("OMP_NUM_THREADS", nullptr), none("TVM_NUM_THREADS", nullptr);
  EXPECT_GE(default_thread_count(), 1);
  EXPECT_LE(default_thread_count(), static_cast<int>(allowed_cpus().size()));
  std::thread([] {  // a mask of its own
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(allowed_cpus().front()), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(allowed_cpus().size(), 1u);
    EXPECT_EQ(default_thread_count(), 1);
  })
      .join();
}

}  // namespace
}  // namespace tessera
