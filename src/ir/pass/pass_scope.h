#pragma once
// How long passes may remember what they did for those that follow.

namespace tessera {

/// While one is alive, work on modules goes on in this thread: a pass, a sequence of them, a step of a build. Scopes nest.
class PassScope {
 public:
  PassScope();
  ~PassScope();
  PassScope(const PassScope&) = delete;
  PassScope& operator=(const PassScope&) = delete;

  static bool is_open();
  /// Calls `last` once, when the outermost scope of this thread ends, also by an error. One must be open.
  static void at_end(void (*last)());
};

}  // namespace tessera
