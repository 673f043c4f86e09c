// Loop programs from outside: what their field types do not say.

#include "ir/json/check.h"

#include "tir/stmt.h"

namespace tessera {
namespace {

bool between(int32_t value, int32_t low, int32_t high) { return low <= value && value <= high; }

std::string check_for(const Object* node) {
  auto* loop = static_cast<const For*>(node);
  if (!between(static_cast<int32_t>(loop->kind), 0, 4)) return "kind is none of the five";
  return "";
}

std::string check_iter_var(const Object* node) {
  auto* iter = static_cast<const IterVarNode*>(node);
  if (!between(static_cast<int32_t>(iter->iter_type), 0, 8)) return "iter_type is none of the nine";
  return "";
}

std::string check_buffer(const Object* node) {
  auto* buffer = static_cast<const BufferNode*>(node);
  if (!between(static_cast<int32_t>(buffer->buffer_type), 1, 2)) return "buffer_type is neither 1 nor 2";
  if (!buffer->strides.empty() && buffer->strides.size() != buffer->shape.size())
    return "it has strides for another number of dimensions";
  return "";
}

std::string check_block_realize(const Object* node) {
  auto* realize = static_cast<const BlockRealize*>(node);
  if (realize->iter_values.size() != realize->block->iter_vars.size()) return "values and variables differ in number";
  return "";
}

std::string check_block(const Object* node) {
  for (const IterVar& iter : static_cast<const BlockNode*>(node)->iter_vars)
    if (!iter->dom) return "a variable has no domain";
  return "";
}

struct Register {
  Register() {
    set_json_check(For::info, check_for);
    set_json_check(IterVarNode::info, check_iter_var);
    set_json_check(BufferNode::info, check_buffer);
    set_json_check(BlockRealize::info, check_block_realize);
    set_json_check(BlockNode::info, check_block);
  }
} registered;

}  // namespace
}  // namespace tessera
