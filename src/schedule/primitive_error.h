#pragma once
// The error of a primitive, and how it is shown in the user's program.

#include "schedule/state.h"

namespace tessera::schedule {

/// `throw PrimitiveError({loop}) << "loop i is bound to a thread"`: an error that knows which loops and blocks it is
/// about.
class PrimitiveError : public Error {
 public:
  explicit PrimitiveError(std::vector<Stmt> statements = {})
      : Error(ScheduleError), statements_(std::move(statements)) {}
  explicit PrimitiveError(const For* loop) : PrimitiveError(std::vector<Stmt>{Stmt(loop)}) {}
  explicit PrimitiveError(const BlockNode* block) : PrimitiveError(std::vector<Stmt>{Stmt(block)}) {}

  template <class T>
  PrimitiveError&& operator<<(const T& part) && {
    static_cast<Error&>(*this) << part;
    return std::move(*this);
  }
  PrimitiveError&& operator<<(const char* part) && {
    static_cast<Error&>(*this) << part;
    return std::move(*this);
  }
  const std::vector<Stmt>& statements() const { return statements_; }

  /// What is said instead of the message where errors are to be rendered fast.
  PrimitiveError&& briefly(std::string text) && {
    brief_ = std::move(text);
    return std::move(*this);
  }
  const std::string& brief() const { return brief_; }

 private:
  std::vector<Stmt> statements_;
  std::string brief_;
};

/// How much of an error is shown: the program with the statement underlined, the message, or nothing at all.
enum class RenderLevel : int { Detail = 0, Fast = 1, None = 2 };

/// The text of a primitive's error: `method` is its name in Python, `statements` what it was about.
std::string render_error(RenderLevel level, const IRModule& mod, std::string method, const std::string& message,
                         const std::vector<Stmt>& statements);

}  // namespace tessera::schedule
