#include "base/stack.h"

#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace tessera {
namespace {

constexpr size_t kMargin = 256 << 10;     // left for code that does not ask
constexpr size_t kFreshStack = 64 << 20;  // reserved address space; pages are touched as they are used

thread_local uintptr_t stack_limit = 0;  // lowest address the current stack may use; 0: not yet known

uintptr_t find_thread_stack_limit() {
  pthread_attr_t attributes;
  void* low = nullptr;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
  }
  return reinterpret_cast<uintptr_t>(low);
}

struct Switch {
  void (*function)(void*);
  void* context;
  std::exception_ptr error;
  ucontext_t back, there;
#if defined(__SANITIZE_ADDRESS__)
  void* fake_stack = nullptr;
  const void* old_bottom = nullptr;
  size_t old_size = 0;
#endif
};

void entry(unsigned high, unsigned low) {
  auto* call = reinterpret_cast<Switch*>((static_cast<uintptr_t>(high) << 32) | low);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &call->old_bottom, &call->old_size);
#endif
  try {
    call->function(call->context);
  } catch (...) {
    call->error = std::current_exception();
  }
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(nullptr, call->old_bottom, call->old_size);
#endif
}

}  // namespace

bool stack_is_low() {
  if (stack_limit == 0) stack_limit = find_thread_stack_limit();
  auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return here - stack_limit < kMargin;
}

void run_on_fresh_stack(void (*function)(void*), void* context) {
  void* memory = mmap(nullptr, kFreshStack, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  Switch call{};
  call.function = function;
  call.context = context;
  getcontext(&call.there);
  call.there.uc_stack.ss_sp = memory;
  call.there.uc_stack.ss_size = kFreshStack;
  call.there.uc_link = &call.back;
  auto address = reinterpret_cast<uintptr_t>(&call);
  makecontext(&call.there, reinterpret_cast<void (*)()>(entry), 2, static_cast<unsigned>(address >> 32),
              static_cast<unsigned>(address));
  uintptr_t outer_limit = stack_limit;
  stack_limit = reinterpret_cast<uintptr_t>(memory);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&call.fake_stack, memory, kFreshStack);
#endif
  swapcontext(&call.back, &call.there);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(call.fake_stack, nullptr, nullptr);
#endif
  stack_limit = outer_limit;
  munmap(memory, kFreshStack);
  if (call.error) std::rethrow_exception(call.error);
}

}  // namespace tessera
