#pragma once
// The importer of Keras models at work.

#include <unordered_map>

#include "frontend/keras/keras.h"

namespace tessera::keras {

/// (batch, ..., channels) -> (batch, channels, ...), and back.
Expr moved_to_second(const Expr& x, size_t rank);
Expr moved_to_last(const Expr& x, size_t rank);

class KerasImporter : public GraphImporter {
 public:
  KerasImporter(const GraphModel& model, const LayerTable& table, bool moves_channels, const GraphOptions& options,
                std::vector<UnsupportedNode>* unsupported = nullptr)
      : GraphImporter(model, table, options, unsupported), moves_channels_(moves_channels) {}

  Exprs convert(const GraphNode& node, const LayerConverter& converter, Exprs inputs) override;
  Expr mark_moved(Expr value);
  bool is_moved(const Expr& value) const { return moved_.count(value.get()) != 0; }
  /// As Keras has it.
  Expr as_keras(const Expr& value);
  Expr as_moved(const Expr& value);

 protected:
  Expr entering(const GraphInput& input, Expr value) override;
  Expr leaving(Expr value) override;

 private:
  bool moves_channels_;
  std::unordered_map<const Object*, Expr> moved_;                // with channels second; kept alive
  std::unordered_map<const Object*, Expr> as_keras_, as_moved_;  // the same tensors the other way round
};

}  // namespace tessera::keras
