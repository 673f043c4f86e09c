#pragma once
// What topi functions take: a tensor, or a number that stands for a tensor of no dimensions.

#include <variant>

#include "te/tensor.h"

namespace tessera::topi {

inline constexpr const char* kElementwise = "elemwise";
inline constexpr const char* kBroadcast = "broadcast";
inline constexpr const char* kInjective = "injective";
inline constexpr const char* kReduce = "comm_reduce";
inline constexpr const char* kReduceIndex = "comm_reduce_idx";

using Operand = std::variant<te::Tensor, PrimExpr>;

/// A computation over `shape` whose axes are named prefix0, prefix1, ...
te::Tensor compute(const Array<PrimExpr>& shape, const std::string& prefix,
                   const std::function<PrimExpr(const Array<PrimExpr>&)>& body, const String& name, const String& tag);

}  // namespace tessera::topi

namespace tessera {
template <>
struct Convert<topi::Operand> {
  static Any pack(const topi::Operand& value) {
    return std::visit([](const auto& v) { return Any(v); }, value);
  }
  static topi::Operand unpack(const AnyView& view) {
    if (auto* tensor = cast_or_null<te::TensorNode>(view.object())) return te::Tensor(tensor);
    return view.to<PrimExpr>();
  }
  static std::string name() { return "Tensor or PrimExpr"; }
};
}  // namespace tessera
