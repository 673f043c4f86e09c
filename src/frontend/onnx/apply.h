#pragma once
// Operators of ONNX as functions of Relay expressions, for importers of other frameworks: what ONNX has a converter for is not written
// a second time.

#include <string>
#include <variant>
#include <vector>

#include "frontend/common/node_context.h"

namespace tessera::onnx {

struct Given {
  using Value =
      std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>, std::vector<std::string>>;
  Given(const char* name, int value) : name(name), value(int64_t(value)) {}
  Given(const char* name, bool value) : name(name), value(int64_t(value)) {}
  Given(const char* name, int64_t value) : name(name), value(value) {}
  Given(const char* name, double value) : name(name), value(value) {}
  Given(const char* name, const char* value) : name(name), value(std::string(value)) {}
  Given(const char* name, std::string value) : name(name), value(std::move(value)) {}
  Given(const char* name, std::vector<int64_t> value) : name(name), value(std::move(value)) {}
  Given(const char* name, std::vector<double> value) : name(name), value(std::move(value)) {}
  Given(const char* name, std::vector<std::string> value) : name(name), value(std::move(value)) {}

  const char* name;
  Value value;
};

/// All outputs of `op`, in its newest version, for these inputs (null: left out) and attributes. Errors name the node `in`.
std::vector<relay::Expr> apply_all(const frontend::NodeContext& in, const char* op, std::vector<relay::Expr> inputs,
                                   const std::vector<Given>& attributes = {}, size_t outputs = 1);
/// The first of them.
relay::Expr apply(const frontend::NodeContext& in, const char* op, std::vector<relay::Expr> inputs,
                  const std::vector<Given>& attributes = {});

}  // namespace tessera::onnx
