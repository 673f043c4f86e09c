#include "base/error.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>

namespace tessera {
namespace {

constexpr int kMaxFrames = 64;

std::string describe_frame(void* address) {
  Dl_info info;
  if (!dladdr(address, &info) || !info.dli_sname) return "?";
  int status = 0;
  char* demangled = abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status);
  std::string name = status == 0 ? demangled : info.dli_sname;
  std::free(demangled);
  return name;
}

}  // namespace

std::string to_text(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.6g", value);
  return buffer;
}

Error::Error(ErrorKind kind) : Error(kind, "") {}

Error::Error(std::string kind, std::string message) : state_(std::make_shared<State>()) {
  state_->kind = std::move(kind);
  state_->message = std::move(message);
  state_->frames.resize(kMaxFrames);
  state_->frames.resize(static_cast<size_t>(::backtrace(state_->frames.data(), kMaxFrames)));
}

void Error::append(std::string_view text) { state_->message += text; }

const char* Error::what() const noexcept {
  state_->what = state_->kind + ": " + state_->message;
  return state_->what.c_str();
}

std::string Error::backtrace() const {
  std::string out;
  int shown = 0;
  for (void* frame : state_->frames) {
    std::string name = describe_frame(frame);
    if (name == "?" || name.starts_with("tessera::Error::")) continue;
    out += "  " + std::to_string(shown++) + ": " + name + "\n";
  }
  return out;
}

namespace detail {

CheckFailure::CheckFailure(const char* file, int line, const char* condition) : error_(InternalError) {
  std::string_view path = file;
  size_t src = path.rfind("src/");
  error_ << "check failed at " << (src == path.npos ? path : path.substr(src)) << ":" << line << ": " << condition
         << ". ";
}

CheckFailure::~CheckFailure() noexcept(false) { throw Error(error_); }

}  // namespace detail
}  // namespace tessera
