// Memory of tensor cores gets its shape and layout written beside its allocation, as the intrinsics that use it tell.
//
//   allocate F (wmma.matrix_a); tvm_load_matrix_sync(F, 16, 16, 16, 0, p, 16, "row_major")
//     =>   attr F fragment_shape = "16, 16, 16"; attr F fragment_layout = "row_major"; allocate F ...

#include <unordered_map>

#include "ir/builtin.h"
#include "ir/rewrite.h"
#include "tir/attrs.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

struct Fragment {
  std::string shape, layout;
};

std::string scope_of(const VarNode* var) {
  auto* type = var->type_annotation.as<PointerType>();
  return type ? type->storage_scope.str() : "";
}

class FragmentFinder {
 public:
  explicit FragmentFinder(const Stmt& body) {
    walk(body, [this](const Call* op) {
      bool is_load = builtin::is(op, builtin::tvm_load_matrix_sync());
      if (is_load || builtin::is(op, builtin::tvm_store_matrix_sync()) || builtin::is(op, builtin::tvm_fill_fragment()))
        note(op, is_load);
    });
    walk(body, [this](const Call* op) {
      if (builtin::is(op, builtin::tvm_mma_sync()) || builtin::is(op, builtin::tvm_bmma_sync())) check_operands(op);
    });
  }

  const Fragment* find(const VarNode* var) const {
    auto it = fragments_.find(var);
    return it == fragments_.end() ? nullptr : &it->second;
  }

 private:
  void note(const Call* op, bool is_load) {
    auto* var = op->args[0].as<VarNode>();
    if (!var) throw Error(TypeError) << "a fragment is a variable, not " << op->args[0];
    std::string shape;
    for (size_t i : {1, 2, 3}) {
      const int64_t* extent = as_int(op->args[i]);
      if (!extent) throw Error(TypeError) << "the shape of fragment " << var->name << " is not constant";
      shape += (shape.empty() ? "" : ", ") + std::to_string(*extent);
    }
    Fragment& known = fragments_[var];
    agree(&known.shape, shape, var, "shape");
    std::string scope = scope_of(var);
    auto* layout = is_load && op->args.size() > 7 ? op->args[7].as<StringImm>() : nullptr;
    if (layout && scope != "wmma.accumulator") agree(&known.layout, layout->value.str(), var, "layout");
  }

  static void agree(std::string* known, const std::string& now, const VarNode* var, const char* what) {
    if (!known->empty() && *known != now)
      throw Error(ValueError) << "fragment " << var->name << " is used with " << what << " " << *known << " and with "
                              << now;
    *known = now;
  }

  void check_operands(const Call* op) const {
    std::string shape;
    for (size_t i : {0, 2, 4, 6}) {
      auto* var = op->args[i].as<VarNode>();
      const Fragment* known = var ? find(var) : nullptr;
      if (!known)
        throw Error(ValueError) << "fragment " << op->args[i] << " is multiplied but neither loaded nor filled";
      if (!shape.empty() && known->shape != shape)
        throw Error(ValueError) << "fragments of shapes " << shape << " and " << known->shape << " are multiplied";
      shape = known->shape;
    }
  }

  std::unordered_map<const VarNode*, Fragment> fragments_;
};

}  // namespace

Stmt infer_fragment(const Stmt& body) {
  FragmentFinder fragments(body);
  return rewrite(body, [&](Rewriter& self, const Allocate* op) -> Stmt {
    Stmt out = self.children(op);
    const Fragment* known = fragments.find(op->buffer_var.get());
    if (!known) return out;
    auto note = [&](const char* key, const std::string& value) {
      out = make(AttrStmt{.node = op->buffer_var, .attr_key = key, .value = string_imm(value), .body = out});
    };
    note("fragment_shape", known->shape);
    if (!known->layout.empty()) note("fragment_layout", known->layout);
    return out;
  });
}

}  // namespace tessera
