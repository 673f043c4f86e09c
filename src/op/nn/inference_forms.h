#pragma once
// Normalisations as the arithmetic they are when a model is run and not trained. `before` has types; `args` are its arguments
// as they are now.

#include "relay/expr.h"

namespace tessera::op {

relay::Expr batch_norm_inference(const relay::Call* before, const Array<relay::Expr>& args);
relay::Expr dropout_inference(const relay::Call* before, const Array<relay::Expr>& args);
relay::Expr group_norm_inference(const relay::Call* before, const Array<relay::Expr>& args);
relay::Expr instance_norm_inference(const relay::Call* before, const Array<relay::Expr>& args);
relay::Expr l2_normalize_inference(const relay::Call* before, const Array<relay::Expr>& args);
relay::Expr layer_norm_inference(const relay::Call* before, const Array<relay::Expr>& args);

}  // namespace tessera::op
