#include "topi/cpu/recurrent_activation.h"

#include <vector>

#include "ir/prim/ops.h"

namespace tessera::topi {
namespace {

/// A number with the type and the lanes of x.
PrimExpr constant_like(const PrimExpr& x, double value) { return make_const(x.dtype(), value); }

using Formula = PrimExpr (*)(const PrimExpr& x, double alpha, double beta);
struct ActivationRow {
  const char* name;
  Formula formula;
};

const std::vector<ActivationRow>& activation_rows() {
  static const std::vector<ActivationRow> rows{
      {"affine", [](const PrimExpr& x, double a, double b) { return x * constant_like(x, a) + constant_like(x, b); }},
      {"elu",
       [](const PrimExpr& x, double a, double) {
         PrimExpr below =
             constant_like(x, a) * (unary_intrin("tir.exp", min(x, constant_like(x, 0))) - constant_like(x, 1));
         return select(x < constant_like(x, 0), below, x);
       }},
      {"hardsigmoid",
       [](const PrimExpr& x, double a, double b) {
         return max(min(x * constant_like(x, a) + constant_like(x, b), constant_like(x, 1)), constant_like(x, 0));
       }},
      {"leakyrelu",
       [](const PrimExpr& x, double a, double) { return select(x < constant_like(x, 0), x * constant_like(x, a), x); }},
      {"relu", [](const PrimExpr& x, double, double) { return max(x, constant_like(x, 0)); }},
      {"scaledtanh", [](const PrimExpr& x, double a,
                        double b) { return constant_like(x, a) * unary_intrin("tir.tanh", x * constant_like(x, b)); }},
      {"sigmoid", [](const PrimExpr& x, double, double) { return unary_intrin("tir.sigmoid", x); }},
      {"softplus",
       [](const PrimExpr& x, double, double) {
         PrimExpr decay = unary_intrin("tir.exp", constant_like(x, 0) - max(x, constant_like(x, 0) - x));
         return max(x, constant_like(x, 0)) + unary_intrin("tir.log", decay + constant_like(x, 1));
       }},
      {"softsign",
       [](const PrimExpr& x, double, double) { return div(x, constant_like(x, 1) + max(x, constant_like(x, 0) - x)); }},
      {"tanh", [](const PrimExpr& x, double, double) { return unary_intrin("tir.tanh", x); }},
      {"thresholdedrelu",
       [](const PrimExpr& x, double a, double) { return select(x < constant_like(x, a), constant_like(x, 0), x); }},
  };
  return rows;
}

const ActivationRow* find_activation(const std::string& name) {
  for (const ActivationRow& row : activation_rows())
    if (name == row.name) return &row;
  return nullptr;
}

}  // namespace

PrimExpr activated(const RecurrentActivation& by, const PrimExpr& x) {
  const ActivationRow* row = find_activation(by.name);
  ICHECK(row) << "the type of a recurrent layer checks its activations";
  return row->formula(x, by.alpha, by.beta);
}

std::string recurrent_activations() {
  std::string out;
  for (const ActivationRow& row : activation_rows()) out += (out.empty() ? "" : ", ") + std::string(row.name);
  return out;
}

bool is_recurrent_activation(const std::string& name) { return find_activation(name) != nullptr; }

}  // namespace tessera::topi
