// The text of compute DAGs, and how much they compute.

#include <algorithm>

#include "ir/repr.h"
#include "tune/auto_scheduler/compute_dag.h"

namespace tessera::auto_scheduler {

// ---- text --------------------------------------------------------------------------------------------------

namespace {

std::string reduction_text(const Reduce* reduce, size_t output) {
  const PrimExpr result = reduce->combiner->result[output];
  auto text = [](const PrimExpr& e) { return repr(e.get()); };
  if (result.as<Add>()) return " += " + text(reduce->source[0]);
  if (result.as<Max>()) return " max= " + text(reduce->source[0]);
  if (result.as<Min>()) return " min= " + text(reduce->source[0]);
  auto* select = result.as<Select>();
  if (!select) return "reduce" + text(result);
  std::string sources;
  for (const PrimExpr& source : reduce->source) sources += (sources.empty() ? "" : ",") + text(source);
  return " select(" + text(select->condition) + ", " + text(select->true_value) + ", " + text(select->false_value) +
         ")= (" + sources + ")";
}

}  // namespace

std::string dag_text(const ComputeDAGNode* dag, bool for_hash) {
  ReprPrinter out;
  for (const te::Operation& op : dag->ops) {
    if (auto* given = op.as<te::PlaceholderOp>()) {
      out << op->name.str() << " = PLACEHOLDER ";
      if (!for_hash) (out << "[").list(given->shape) << "]";
      out << "\n";
    } else if (auto* compute = op.as<te::ComputeOp>()) {
      for (size_t i = 0; i < compute->body.size(); ++i) {
        std::string axes;
        for (const IterVar& axis : compute->axis) axes += (axes.empty() ? "" : ", ") + axis->var->name.str();
        out << op->name.str() << "(" << axes << ")";
        if (compute->body.size() > 1) out << ".v" << static_cast<int64_t>(i);
        const PrimExpr& body = compute->body[i];
        if (auto* reduce = body.as<Reduce>()) out << reduction_text(reduce, i) << "\n";
        else if (auto* call = for_hash ? body.as<Call>() : nullptr) out << " = " << repr(call->op.get()) << "\n";
        else out << " = " << repr(body.get()) << "\n";
      }
    }
  }
  return std::move(out.text);
}

// ---- flops -------------------------------------------------------------------------------------------------

namespace {

/// Operations of a body whose operands have the type of its result.
class FlopCounter {
 public:
  explicit FlopCounter(DataType dtype) : code_(static_cast<int>(dtype.code)) {}

  double of(const PrimExpr& e) {
    if (auto* reduce = e.as<Reduce>()) {
      double count = 1, each = 0;
      for (const IterVar& axis : reduce->axis) {
        const int64_t* extent = as_int(axis->dom->extent);
        if (!extent) is_unknown = true;
        else count *= static_cast<double>(*extent);
      }
      for (size_t i = 0; i < reduce->combiner->result.size(); ++i)
        each += of(reduce->combiner->result[i]) + of(reduce->source[i]);
      return count * each;
    }
    if (auto* binary = e.as<BinaryNode>()) {
      const bool counts = matches(binary->a) || matches(binary->b);
      return (counts ? 1 : 0) + of(binary->a) + of(binary->b);
    }
    if (auto* negation = e.as<Not>()) return (matches(negation->a) ? 1 : 0) + of(negation->a);
    if (auto* cast = e.as<Cast>()) return of(cast->value);
    if (auto* select = e.as<Select>())
      return of(select->condition) + std::max(of(select->true_value), of(select->false_value));
    if (auto* call = e.as<Call>()) {
      double out = 0;
      for (const PrimExpr& arg : call->args) out += of(arg);
      return out;
    }
    return 0;
  }

  bool is_unknown = false;

 private:
  bool matches(const PrimExpr& e) const { return static_cast<int>(e.dtype().code) == code_; }
  int code_;
};

}  // namespace

double count_flops(const Array<te::Operation>& ops) {
  double out = 0;
  for (const te::Operation& op : ops) {
    auto* compute = op.as<te::ComputeOp>();
    if (!compute) continue;
    if (ObjectRef stated = compute->attrs.get_or_null("FLOP")) {
      int64_t count = 0;
      double real = 0;
      if (number_boxes.unbox_int(stated.get(), &count)) real = static_cast<double>(count);
      else number_boxes.unbox_float(stated.get(), &real);
      out += real;
      continue;
    }
    double elements = 1;
    for (const IterVar& axis : compute->axis) {
      const int64_t* extent = as_int(axis->dom->extent);
      if (!extent) return -1;
      elements *= static_cast<double>(*extent);
    }
    for (const PrimExpr& body : compute->body) {
      FlopCounter counter(body.dtype());
      out += elements * counter.of(body);
      if (counter.is_unknown) return -1;
    }
  }
  return out;
}

}  // namespace tessera::auto_scheduler
