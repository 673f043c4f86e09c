#include "frontend/common/survey.h"

#include "frontend/errors.h"

namespace tessera::frontend {
namespace {

bool is_unsupported(const std::string& kind) {
  return kind == OpNotImplemented || kind == OpAttributeUnImplemented || kind == NotImplementedError;
}

/// The message of an error on one line, without the operator's name in front.
std::string reason_of(const Error& error, const std::string& op) {
  std::string out = error.message();
  if (out.starts_with(op))
    if (size_t colon = out.find(": "); colon != std::string::npos && (colon == op.size() || out[op.size()] == ' '))
      out = out.substr(colon + 2);
  for (size_t at = out.find('\n'); at != std::string::npos; at = out.find('\n', at)) {
    size_t end = out.find_first_not_of(" \n", at);
    out.replace(at, end == std::string::npos ? end : end - at, end == std::string::npos ? "" : "; ");
  }
  return out;
}

}  // namespace

void UnsupportedNodes::add(UnsupportedNode found, const Error& error) {
  found.reason = reason_of(error, found.op);
  found.is_invalid = !is_unsupported(error.kind());
  std::string key = found.domain + "\n" + found.op + "\n" + found.node + "\n" + found.reason;
  if (seen_.insert(std::move(key)).second) out_->push_back(std::move(found));
}

}  // namespace tessera::frontend
