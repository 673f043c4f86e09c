#pragma once
// The one call convention: a PackedFunc takes slots and fills a slot. Typed C++ functions are wrapped by `typed`.

#include <functional>

#include "base/any.h"

namespace tessera {

/// The arguments of one call, borrowed from the caller.
struct Args {
  const TesseraValue* values = nullptr;
  const int* codes = nullptr;
  int count = 0;

  int size() const { return count; }
  AnyView operator[](int i) const {
    ICHECK(i < count) << "argument " << i << " of " << count;
    return AnyView(values[i], codes[i]);
  }
};

struct PackedFuncNode : Object {
  using Body = std::function<void(Args, Any*)>;
  Body body;
  static constexpr NodeInfo info{"runtime.PackedFunc", &Object::info, Role::Identity, kTesseraFunction};
  static void fields(auto) {}
};

class PackedFunc : public Ref<PackedFuncNode> {
 public:
  using Ref::Ref;
  explicit PackedFunc(PackedFuncNode::Body body);

  void call_packed(Args args, Any* result) const { checked()->body(args, result); }

  template <class... A>
  Any operator()(A&&... args) const {
    constexpr int n = sizeof...(A);
    Any slots[n + 1] = {Any(std::forward<A>(args))...};
    TesseraValue values[n + 1];
    int codes[n + 1];
    for (int i = 0; i < n; ++i) {
      values[i] = slots[i].raw();
      codes[i] = slots[i].code();
    }
    Any result;
    call_packed({values, codes, n}, &result);
    return result;
  }

  /// A function from a C function pointer of the calling convention; `finalize` runs when the last reference goes.
  static PackedFunc from_c(TesseraPackedCFunc function, void* resource, TesseraPackedCFuncFinalizer finalize);
};

/// The last error of the calling thread, as C callers see it. A callback that failed through the C border is
/// found here again as the very error it raised.
void set_last_error(Error error);
const Error* last_error();
[[noreturn]] void throw_last_error();

[[noreturn]] void throw_argument_count(const std::string& name, int expected, int got);
[[noreturn]] void throw_argument(const std::string& name, int index, const Error& cause);

namespace detail {

template <class T>
auto unpack_argument(const std::string& name, Args args, int i) {
  try {
    return args[i].to<std::remove_cvref_t<T>>();
  } catch (const Error& error) {
    throw_argument(name, i, error);
  }
}

template <class R, class... A, class F, size_t... I>
PackedFuncNode::Body typed_body(std::string name, F function, std::index_sequence<I...>) {
  return [name = std::move(name), function = std::move(function)]([[maybe_unused]] Args args,
                                                                  [[maybe_unused]] Any* result) {
    if (args.count != static_cast<int>(sizeof...(A))) throw_argument_count(name, sizeof...(A), args.count);
    if constexpr (std::is_void_v<R>) {
      function(unpack_argument<A>(name, args, static_cast<int>(I))...);
    } else {
      *result = Any(function(unpack_argument<A>(name, args, static_cast<int>(I))...));
    }
  };
}

template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
template <class R, class... A>
struct Signature<R (*)(A...)> {
  template <class F>
  static PackedFuncNode::Body wrap(std::string name, F function) {
    return typed_body<R, A...>(std::move(name), std::move(function), std::index_sequence_for<A...>());
  }
};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const> : Signature<R (*)(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...)> : Signature<R (*)(A...)> {};

}  // namespace detail

/// Wraps a C++ function with typed parameters. `name` is used in argument errors.
template <class F>
PackedFunc typed(std::string name, F function) {
  if constexpr (std::is_same_v<F, PackedFunc>) {
    return function;
  } else if constexpr (std::is_invocable_v<F, Args, Any*>) {
    return PackedFunc(PackedFuncNode::Body(std::move(function)));
  } else {
    return PackedFunc(detail::Signature<F>::wrap(std::move(name), std::move(function)));
  }
}

/// A callable handed in from another language where a plain C++ lambda is accepted too.
template <>
struct Convert<std::function<void(Args, Any*)>> {
  static Any pack(std::function<void(Args, Any*)> body) { return Any::of_object(PackedFunc(std::move(body)).get()); }
};

}  // namespace tessera
