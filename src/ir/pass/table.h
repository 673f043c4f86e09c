#pragma once
// Passes are functions: `R f(R, options...)`, where R is a module, a function of one or the body of a function. Each room
// declares its passes in one header, `passes.h`, and names them in one table, `passes.cc`: nothing else knows a pass by
// name. The table also gives Python its constructors, as globals that take the options.

#include <concepts>
#include <utility>
#include <vector>

#include "ir/pass/pass.h"

namespace tessera {

/// Something that may be true of a module between passes, and how it is seen.
struct Property {
  const char* name;
  bool (*holds)(const IRModule& mod);
};

/// The function that a row is about, whatever its type.
struct PassKey {
  template <class R, class... A>
  PassKey(R (*function)(A...)) : address(reinterpret_cast<void (*)()>(function)) {}
  void (*address)();
};

/// What the table says of a pass; an error for a function that is in no table.
PassInfo pass_info(PassKey key);
/// The pass, which in tests (TESSERA_VERIFY=1) checks after each run that what its row promises holds.
Pass with_promises(Pass pass, PassKey key);
/// TESSERA_VERIFY=1 in the environment, as the tests set it: passes are checked to leave valid programs.
bool verifies_passes();

/// How a change of a `Subject` becomes a pass over a module. Rooms specialise it for functions and bodies of theirs; the
/// change takes the subject, the module and the context. `holds`, where there is one, is true after all such passes.
template <class Subject>
struct PassOver;
template <>
struct PassOver<IRModule> {
  template <class F>
  static Pass make(PassInfo info, F change) {
    return module_pass(std::move(info), [change](IRModule mod, const PassContext& context) -> IRModule {
      return change(std::move(mod), IRModule(Ref<IRModuleNode>()), context);
    });
  }
};

/// The pass of `key` made from a change of the subject: for constructors that do more than hand options on.
template <class Subject, class F>
Pass pass_over(PassKey key, F change) {
  Pass out = PassOver<Subject>::make(
      pass_info(key), [change](auto&& subject, const IRModule& mod, const PassContext& context) -> Subject {
        if constexpr (std::invocable<const F&, decltype(subject)>)
          return change(std::forward<decltype(subject)>(subject));
        else return change(std::forward<decltype(subject)>(subject), mod, context);
      });
  return with_promises(std::move(out), key);
}

/// How options and a function that takes them after its subject become a pass. The module or the context may stand
/// between the two. A function that returns a Pass takes options alone.
template <class F>
struct PassFunction;
template <class... O>
struct PassFunction<Pass (*)(O...)> {
  static Pass make(Pass (*function)(O...), std::remove_cvref_t<O>... options) {
    return function(std::move(options)...);
  }
  static PackedFunc constructor(const std::string& name, Pass (*function)(O...)) { return typed(name, function); }
};

namespace detail {

template <class F, class... O>
struct WithOptions {
  static PackedFunc constructor(const std::string& name, F function) {
    return typed(name, [function](O... options) { return PassFunction<F>::make(function, std::move(options)...); });
  }
};

}  // namespace detail

template <class R, class S, class... O>
  requires(!std::same_as<R, Pass>)
struct PassFunction<R (*)(S, O...)> : detail::WithOptions<R (*)(S, O...), std::remove_cvref_t<O>...> {
  static Pass make(R (*function)(S, O...), std::remove_cvref_t<O>... options) {
    return pass_over<R>(function, [function, ... options = std::move(options)](auto&& subject) -> R {
      return function(std::forward<decltype(subject)>(subject), options...);
    });
  }
};
template <class R, class S, class... O>
  requires(!std::same_as<R, Pass>)
struct PassFunction<R (*)(S, const PassContext&, O...)>
    : detail::WithOptions<R (*)(S, const PassContext&, O...), std::remove_cvref_t<O>...> {
  static Pass make(R (*function)(S, const PassContext&, O...), std::remove_cvref_t<O>... options) {
    return pass_over<R>(
        function,
        [function, ... options = std::move(options)](auto&& subject, const IRModule&, const PassContext& context) -> R {
          return function(std::forward<decltype(subject)>(subject), context, options...);
        });
  }
};
template <class R, class S, class... O>
  requires(!std::same_as<R, Pass>)
struct PassFunction<R (*)(S, const IRModule&, O...)>
    : detail::WithOptions<R (*)(S, const IRModule&, O...), std::remove_cvref_t<O>...> {
  static Pass make(R (*function)(S, const IRModule&, O...), std::remove_cvref_t<O>... options) {
    return pass_over<R>(
        function,
        [function, ... options = std::move(options)](auto&& subject, const IRModule& mod, const PassContext&) -> R {
          return function(std::forward<decltype(subject)>(subject), mod, options...);
        });
  }
};

/// The pass that `function` is, with these options: `pass(storage_flatten, 64, false)`.
template <class R, class... A, class... O>
Pass pass(R (*function)(A...), O&&... options) {
  return PassFunction<R (*)(A...)>::make(function, std::forward<O>(options)...);
}

// ---- tables --------------------------------------------------------------------------------------------------------

struct PassFacts {
  const char* parameters = "";         // of Python's constructor, as Python writes them
  int level = 0;                       // runs where the context's level is at least this
  std::vector<const char*> required;   // passes that a Sequential runs just before
  std::vector<const Property*> holds;  // afterwards
  const char* title = nullptr;         // the name in PassInfo where it is not the prefix and the row's name
};

/// One pass: its name in Python, its function, what it does, and the rest. Without a line on what it does, it is for the
/// compiler alone, and Python makes no function of it.
struct PassRow {
  template <class R, class... A>
  PassRow(const char* name, R (*function)(A...), const char* does, PassFacts facts = {})
      : name(name), key(function), does(does), facts(std::move(facts)), constructor_(constructor_of<R (*)(A...)>) {
    if constexpr (requires { PassOver<R>::holds(); }) this->facts.holds.push_back(PassOver<R>::holds());
  }
  PackedFunc constructor(const std::string& global) const { return constructor_(global, key); }

  const char* name;
  PassKey key;
  const char* does;
  PassFacts facts;

 private:
  template <class F>
  static PackedFunc constructor_of(const std::string& global, PassKey key) {
    return PassFunction<F>::constructor(global, reinterpret_cast<F>(key.address));
  }
  PackedFunc (*constructor_)(const std::string&, PassKey);
};

/// For use at namespace scope: `static PassTable table{"tir.transform.", "tir.", {{"Simplify", simplify, ...}, ...}};`.
/// Constructors are registered under the first prefix; names in PassInfo begin with the second.
struct PassTable {
  PassTable(std::string prefix, const char* title_prefix, std::vector<PassRow> rows);
};
/// The names of the passes under a prefix, sorted.
std::vector<std::string> pass_names(std::string_view prefix);
/// The constructor under a name that a user gave; empty where there is none.
PackedFunc find_pass_constructor(std::string_view prefix, std::string_view name);

}  // namespace tessera
