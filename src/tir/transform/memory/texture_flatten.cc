// Memory in a texture is an image of pixels: its last dimension is the channels of a pixel, the dimensions before it are
// folded into rows and columns, and accesses become instructions.
//
//   realize T[0:h, 0:w, 0:4] in "global.texture"    =>    let T = nd_mem_alloc_with_scope("global.texture", 3, [h, w, 4])
//   T[i, j, c] = T[i, j, c] + 1                     =>    texture2d_store(T, j, i, texture2d_load(T, j, i, c) + 1)
//
// The scope says where rows end: "global.texture" folds all but the last two dimensions into rows, "-nhwc" the first two
// (of three dimensions, one), "-weight" the first.

#include "arith/analyzer.h"
#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

constexpr std::string_view kTexture = "global.texture";

bool is_texture(const Buffer& buffer) { return buffer->scope().starts_with(kTexture); }

/// How many leading dimensions are folded into the row of a pixel.
size_t dimensions_of_rows(const Buffer& buffer) {
  std::string scope = buffer->scope();
  size_t rank = buffer->shape.size();
  if (rank < 3)
    throw Error(ValueError) << "buffer " << buffer->name << " of " << rank << " dimensions lies in scope " << scope
                            << "; a texture has at least three, the last of which is the channels of a pixel";
  if (scope == kTexture) return rank - 2;
  if (scope == "global.texture-nhwc") return rank == 3 ? 1 : 2;
  if (scope == "global.texture-weight") return 1;
  throw Error(ValueError) << "buffer " << buffer->name << " lies in scope " << scope
                          << "; textures are global.texture, global.texture-nhwc and global.texture-weight";
}

class TextureFlattener {
 public:
  TextureFlattener() {
    rewriter_.share_results(false);
    rewriter_.on([this](const For* op) -> Stmt {
      analyzer_.bind(op->loop_var, make_range(op->min, op->extent), true);
      return rewriter_.children(op);
    });
    rewriter_.on([this](const BufferRealize* op) -> Stmt { return on_realize(op); });
    rewriter_.on([this](const BufferStore* op) -> Stmt {
      if (!is_texture(op->buffer)) return rewriter_.children(op);
      Array<PrimExpr> args = texel(op->buffer, rewriter_(op->indices));
      args.push_back(rewriter_(op->value));
      return evaluate(make_call(DataType::Handle(), builtin::texture2d_store(), args));
    });
    rewriter_.on([this](const BufferLoad* op) -> PrimExpr {
      if (!is_texture(op->buffer)) return rewriter_.children(op);
      Array<PrimExpr> indices = rewriter_(op->indices);
      Array<PrimExpr> args = texel(op->buffer, indices);
      args.push_back(indices.back());
      return make_call(op->dtype, builtin::texture2d_load(), args);
    });
  }
  Stmt operator()(const Stmt& body) { return rewriter_(body); }

 private:
  Stmt on_realize(const BufferRealize* op) {
    if (!is_texture(op->buffer)) return rewriter_.children(op);
    size_t rows = dimensions_of_rows(op->buffer);
    const PrimExpr& channels = op->bounds.back()->extent;
    if (!is_const_int(channels, 4) && !is_const_int(channels, 1))
      throw Error(ValueError) << "texture " << op->buffer->name << " has " << channels
                              << " channels in its last dimension; a pixel has 1 or 4";
    PrimExpr height = make_const(channels.dtype(), 1), width = height;
    for (size_t i = 0; i + 1 < op->bounds.size(); ++i) {
      PrimExpr& side = i < rows ? height : width;
      side = analyzer_.simplify(side * op->bounds[i]->extent);
    }
    regions_[op->buffer.get()] = op->bounds;
    Stmt body = rewriter_(op->body);
    regions_.erase(op->buffer.get());
    PrimExpr shape =
        make_call(DataType::Handle(), builtin::tvm_stack_make_shape(), Array<PrimExpr>{height, width, channels});
    PrimExpr memory = make_call(DataType::Handle(), builtin::nd_mem_alloc_with_scope(),
                                {string_imm(op->buffer->scope()), int_imm(DataType::Int(64), 3), shape});
    return make(LetStmt{.var = op->buffer->data, .value = memory, .body = body});
  }

  /// The texture, then the column and the row of the pixel.
  Array<PrimExpr> texel(const Buffer& buffer, const Array<PrimExpr>& indices) {
    size_t rows = dimensions_of_rows(buffer);
    auto region = regions_.find(buffer.get());
    PrimExpr row, column;
    for (size_t i = 0; i + 1 < indices.size(); ++i) {
      bool is_inside = region != regions_.end();
      PrimExpr index = is_inside ? indices[i] - region->second[i]->min : indices[i];
      PrimExpr extent = is_inside ? region->second[i]->extent : buffer->shape[i];
      PrimExpr& side = i < rows ? row : column;
      side = analyzer_.simplify(side ? side * extent + index : index);
    }
    return {buffer->data, column, row};
  }

  Rewriter rewriter_;
  arith::Analyzer analyzer_;
  std::unordered_map<const BufferNode*, Array<Range>> regions_;  // of textures that are realised around here
};

}  // namespace

Stmt texture_flatten(const Stmt& body) { return TextureFlattener()(body); }

}  // namespace tessera
