#pragma once
// Recurrent layers as nn.recurrent takes them, for float weights and for int8 ones.

#include "frontend/onnx/importer.h"
#include "topi/cpu/recurrent.h"

namespace tessera::onnx {

struct LayerKind {
  topi::RecurrentCell cell;
  const char* name;
  std::vector<const char*> activations;  // of one direction, where the node says none
};

/// A node whose tensors are laid out as nn.recurrent takes them. This one is for floats.
class RecurrentNode {
 public:
  /// Units that lie together: as many as the longest vectors have lanes.
  static constexpr int64_t kBlock = 16;

  RecurrentNode(Operation& in, LayerKind kind);
  virtual ~RecurrentNode() = default;
  Values run();

 protected:
  struct Inputs {
    Array<Expr> tensors;
    Array<String> names;
    void add(const char* name, const Expr& value) {
      names.push_back(name);
      tensors.push_back(value);
    }
  };

  /// Reads directions and hidden units from the recurrent weights, which say them at `axis`.
  void find_extents(size_t axis);
  /// (steps, batch, size)
  Expr data() const;
  /// (directions, parts * hidden, k) to (directions, parts, blocks, block, k), with zeros behind the last unit.
  Expr units_in_blocks(const Expr& x, int64_t parts) const;
  /// (directions, parts * hidden) to (directions, blocks, parts, block).
  Expr in_blocks(const Expr& x, int64_t parts) const;
  /// The half of the biases that is added to the data (0) or to the state (1).
  Expr bias(int half) const;

  /// What all gates get from the data, for all steps, with the biases that can be added before.
  virtual Expr projected() const;
  virtual void add_weights(Inputs& to) const;

  Operation& in_;
  LayerKind kind_;
  DataType dtype_, sum_;
  int64_t directions_ = 1, hidden_ = 0, gates_ = 1, blocks_ = 1;
  bool by_batch_ = false, is_linear_ = false;
  std::string direction_;

 private:
  Expr turned(const Expr& state) const;
  Expr recurrence(const Expr& x, int64_t gates) const;
  std::vector<topi::RecurrentActivation> activations() const;
};

/// LSTM of com.microsoft whose data and states are quantised at run time.
Values dynamic_quantize_lstm(Operation& in);

}  // namespace tessera::onnx
