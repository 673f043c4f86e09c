#pragma once
// Deep recursion without deep stacks: code that recurses over a program of any depth calls itself through
// `on_enough_stack`, which goes on, when little stack is left, on a fresh one.

#include <type_traits>
#include <utility>

namespace tessera {

/// True when less than a safe margin of the current stack is left.
bool stack_is_low();

/// Runs `function(context)` on a fresh stack and comes back; exceptions travel through.
void run_on_fresh_stack(void (*function)(void*), void* context);

template <class F>
auto on_enough_stack(F&& body) {
  using Result = std::invoke_result_t<F&>;
  if (!stack_is_low()) return body();
  if constexpr (std::is_void_v<Result>) {
    run_on_fresh_stack([](void* f) { (*static_cast<std::remove_reference_t<F>*>(f))(); }, &body);
  } else {
    struct Call {
      std::remove_reference_t<F>* body;
      Result result;
    } call{&body, {}};
    run_on_fresh_stack(
        [](void* c) {
          auto* call = static_cast<Call*>(c);
          call->result = (*call->body)();
        },
        &call);
    return static_cast<Result>(std::move(call.result));
  }
}

}  // namespace tessera
