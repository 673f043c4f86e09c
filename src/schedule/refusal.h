#pragma once
// How a primitive refuses, and how the refusal is shown in the user's program.

#include "schedule/state.h"

namespace tessera::schedule {

/// `throw Refusal({loop}) << "loop i is bound to a thread"`: an error that knows which loops and blocks it is about.
class Refusal : public Error {
 public:
  explicit Refusal(std::vector<Stmt> statements = {}) : Error(ScheduleError), statements_(std::move(statements)) {}
  explicit Refusal(const For* loop) : Refusal(std::vector<Stmt>{Stmt(loop)}) {}
  explicit Refusal(const BlockNode* block) : Refusal(std::vector<Stmt>{Stmt(block)}) {}

  template <class T>
  Refusal&& operator<<(const T& part) && {
    static_cast<Error&>(*this) << part;
    return std::move(*this);
  }
  Refusal&& operator<<(const char* part) && {
    static_cast<Error&>(*this) << part;
    return std::move(*this);
  }
  const std::vector<Stmt>& statements() const { return statements_; }

 private:
  std::vector<Stmt> statements_;
};

/// How much of a refusal is shown: the program with the statement underlined, the message, or nothing at all.
enum class RenderLevel : int { Detail = 0, Fast = 1, None = 2 };

/// The text of a refused primitive: `method` is its name in Python, `statements` what it was about.
std::string render_refusal(RenderLevel level, const IRModule& mod, std::string method, const std::string& message,
                           const std::vector<Stmt>& statements);

}  // namespace tessera::schedule
