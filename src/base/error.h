#pragma once
// Errors a user can cause (`throw Error(ValueError) << ...`) and checks on ourselves (`ICHECK(cond) << ...`).

#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// Error kinds are the names of the Python exceptions they become.
using ErrorKind = const char*;
inline constexpr ErrorKind TypeError = "TypeError";
inline constexpr ErrorKind ValueError = "ValueError";
inline constexpr ErrorKind IndexError = "IndexError";
inline constexpr ErrorKind KeyError = "KeyError";
inline constexpr ErrorKind AttributeError = "AttributeError";
inline constexpr ErrorKind RuntimeError = "TVMError";
inline constexpr ErrorKind NotImplementedError = "NotImplementedError";
inline constexpr ErrorKind FileError = "OSError";
inline constexpr ErrorKind InternalError = "InternalError";
inline constexpr ErrorKind ScheduleError = "ScheduleError";
inline constexpr ErrorKind DiagnosticError = "DiagnosticError";

/// Text forms used by messages. IR nodes take part by `std::string to_text(const T&)`, found by ADL.
std::string to_text(double value);
inline std::string to_text(std::string_view text) { return std::string(text); }
inline std::string to_text(const char* text) { return text; }  // without it a char* would count as a bool
inline std::string to_text(bool value) { return value ? "true" : "false"; }
template <std::integral T>
std::string to_text(T value) {
  return std::to_string(value);
}

/// What was wrong, in the words of the user's program; carries both languages' traces on its way up.
class Error : public std::exception {
 public:
  explicit Error(ErrorKind kind);
  Error(std::string kind, std::string message);

  template <class T>
  Error& operator<<(const T& part) & {
    append(to_text(part));
    return *this;
  }
  template <class T>
  Error&& operator<<(const T& part) && {
    append(to_text(part));
    return std::move(*this);
  }
  Error& operator<<(const char* part) & { return append(part), *this; }
  Error&& operator<<(const char* part) && { return append(part), std::move(*this); }
  Error& operator<<(char part) & { return append(std::string_view(&part, 1)), *this; }
  Error&& operator<<(char part) && { return append(std::string_view(&part, 1)), std::move(*this); }

  const std::string& kind() const { return state_->kind; }
  const std::string& message() const { return state_->message; }
  const char* what() const noexcept override;

  /// One line per C++ frame where the error began, innermost first.
  std::string backtrace() const;

  /// The foreign exception this error stands for (a Python exception crossing C++ keeps its identity here).
  const std::shared_ptr<void>& foreign() const { return state_->foreign; }
  void set_foreign(std::shared_ptr<void> exception) { state_->foreign = std::move(exception); }

 private:
  struct State {
    std::string kind, message, what;
    std::vector<void*> frames;
    std::shared_ptr<void> foreign;
  };
  void append(std::string_view text);
  std::shared_ptr<State> state_;
};

namespace detail {
/// Collects the text of a failed check and throws when the statement ends.
class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition);
  [[noreturn]] ~CheckFailure() noexcept(false);
  template <class T>
  CheckFailure& operator<<(const T& part) {
    error_ << part;
    return *this;
  }

 private:
  Error error_;
};
}  // namespace detail

/// `ICHECK(cond) << "why this holds"`: a promise only we can break. Throws InternalError with file and line.
#define ICHECK(condition)     \
  if (condition) [[likely]] { \
  } else ::tessera::detail::CheckFailure(__FILE__, __LINE__, #condition)

}  // namespace tessera
