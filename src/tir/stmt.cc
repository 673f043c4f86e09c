#include "tir/stmt.h"

namespace tessera {
namespace {

void flatten_into(const Stmt& stmt, std::vector<Stmt>* out) {
  if (!stmt || is_nop(stmt)) return;
  if (auto* seq = stmt.as<SeqStmt>()) {
    for (const Stmt& part : seq->seq) flatten_into(part, out);
  } else {
    out->push_back(stmt);
  }
}

}  // namespace

Stmt sequence(const std::vector<Stmt>& stmts) {
  std::vector<Stmt> flat;
  for (const Stmt& stmt : stmts) flatten_into(stmt, &flat);
  if (flat.empty()) return make_nop();
  if (flat.size() == 1) return flat[0];
  return make(SeqStmt{.seq = flat});
}

Stmt make_nop() { return evaluate(0); }

bool is_nop(const Stmt& stmt) {
  if (auto* call = stmt.as<Evaluate>()) return is_const(call->value);
  if (auto* seq = stmt.as<SeqStmt>()) {
    for (const Stmt& part : seq->seq)
      if (!is_nop(part)) return false;
    return true;
  }
  return false;
}

}  // namespace tessera
