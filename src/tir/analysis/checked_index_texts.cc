#include "tir/analysis/checked_index_texts.h"

#include <algorithm>

#include "ir/builtin.h"
#include "ir/rewrite.h"

namespace tessera {

std::vector<std::string> checked_index_texts(const Stmt& body) {
  std::vector<std::string> out;
  walk(body, [&](const Call* call) {
    if (!is_call(call, "tir.checked_index")) return;
    auto* where = call->args[2].as<StringImm>();
    if (!where) throw Error(TypeError) << "checked_index takes a text as its third argument, not " << call->args[2];
    if (std::find(out.begin(), out.end(), where->value.str()) == out.end()) out.push_back(where->value.str());
  });
  return out;
}

}  // namespace tessera
