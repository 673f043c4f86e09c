#pragma once

#include "ir/rewrite.h"
#include "tir/stmt.h"

namespace tessera {

/// A handler of Rewriter: sequences stay flat and without empty statements, whatever their parts become.
inline constexpr auto flat_sequence = [](Rewriter& self, const SeqStmt* seq) -> Stmt {
  std::vector<Stmt> parts;
  for (const Stmt& part : seq->seq) parts.push_back(self(part));
  return sequence(parts);
};

}  // namespace tessera
