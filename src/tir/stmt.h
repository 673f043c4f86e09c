#pragma once
// Statements: the loop programs that lowering makes and code generation reads.

#include "tir/expr.h"

namespace tessera {

struct StmtNode : Object {
  Span span;
  static constexpr NodeInfo info{"tir.Stmt", &Object::info};
  static void fields(auto f) { f("span", &StmtNode::span, Ignored | Optional); }
};
using Stmt = Ref<StmtNode>;

struct LetStmt : StmtNode {
  Var var;
  PrimExpr value;
  Stmt body;
  static constexpr NodeInfo info{"tir.LetStmt", &StmtNode::info};
  static void fields(auto f) {
    f("var", &LetStmt::var, Binds);
    f("value", &LetStmt::value);
    f("body", &LetStmt::body);
  }
};

/// Says something about `node` that holds inside `body`; keys are listed in tir/attrs.h.
struct AttrStmt : StmtNode {
  ObjectRef node;
  String attr_key;
  PrimExpr value;
  Stmt body;
  static constexpr NodeInfo info{"tir.AttrStmt", &StmtNode::info};
  static void fields(auto f) {
    f("node", &AttrStmt::node, Optional | Opaque);
    f("attr_key", &AttrStmt::attr_key);
    f("value", &AttrStmt::value);
    f("body", &AttrStmt::body);
  }
};

/// Stops the program with `message` where `condition` is false; `body` may rely on it.
struct AssertStmt : StmtNode {
  PrimExpr condition, message;
  Stmt body;
  static constexpr NodeInfo info{"tir.AssertStmt", &StmtNode::info};
  static void fields(auto f) {
    f("condition", &AssertStmt::condition);
    f("message", &AssertStmt::message);
    f("body", &AssertStmt::body);
  }
};

struct BufferStore : StmtNode {
  Buffer buffer;
  PrimExpr value;
  Array<PrimExpr> indices;
  static constexpr NodeInfo info{"tir.BufferStore", &StmtNode::info};
  static void fields(auto f) {
    f("buffer", &BufferStore::buffer, Opaque);
    f("value", &BufferStore::value);
    f("indices", &BufferStore::indices);
  }
};

/// Memory for the rectangle `bounds` of `buffer` exists inside `body`.
struct BufferRealize : StmtNode {
  Buffer buffer;
  Array<Range> bounds;
  PrimExpr condition;
  Stmt body;
  static constexpr NodeInfo info{"tir.BufferRealize", &StmtNode::info};
  static void fields(auto f) {
    f("buffer", &BufferRealize::buffer, Opaque);
    f("bounds", &BufferRealize::bounds);
    f("condition", &BufferRealize::condition);
    f("body", &BufferRealize::body);
  }
};

struct ProducerStore : StmtNode {
  DataProducer producer;
  PrimExpr value;
  Array<PrimExpr> indices;
  static constexpr NodeInfo info{"tir.ProducerStore", &StmtNode::info};
  static void fields(auto f) {
    f("producer", &ProducerStore::producer, Opaque);
    f("value", &ProducerStore::value);
    f("indices", &ProducerStore::indices);
  }
};

struct ProducerRealize : StmtNode {
  DataProducer producer;
  Array<Range> bounds;
  PrimExpr condition;
  Stmt body;
  String storage_scope;
  static constexpr NodeInfo info{"tir.ProducerRealize", &StmtNode::info};
  static void fields(auto f) {
    f("producer", &ProducerRealize::producer, Opaque);
    f("bounds", &ProducerRealize::bounds);
    f("condition", &ProducerRealize::condition);
    f("body", &ProducerRealize::body);
    f("storage_scope", &ProducerRealize::storage_scope);
  }
};

/// Memory for `extents` elements, addressed by `buffer_var`, inside `body`.
struct Allocate : StmtNode {
  Var buffer_var;
  DataType dtype;
  Array<PrimExpr> extents;
  PrimExpr condition;
  Stmt body;
  Map<String, ObjectRef> annotations;
  static constexpr NodeInfo info{"tir.Allocate", &StmtNode::info};
  static void fields(auto f) {
    f("buffer_var", &Allocate::buffer_var, Binds);
    f("dtype", &Allocate::dtype);
    f("extents", &Allocate::extents);
    f("condition", &Allocate::condition);
    f("body", &Allocate::body);
    f("annotations", &Allocate::annotations, Opaque);
  }
};

/// Constant data inside the program: `data` is an NDArray, or empty where the module keeps it under an index.
struct AllocateConst : StmtNode {
  Var buffer_var;
  ObjectRef data;
  PrimExpr irmod_storage_idx;
  DataType dtype;
  Array<PrimExpr> extents;
  Stmt body;
  Map<String, ObjectRef> annotations;
  static constexpr NodeInfo info{"tir.AllocateConst", &StmtNode::info};
  static void fields(auto f) {
    f("buffer_var", &AllocateConst::buffer_var, Binds);
    f("data", &AllocateConst::data, Optional | Opaque);
    f("irmod_storage_idx", &AllocateConst::irmod_storage_idx, Optional);
    f("dtype", &AllocateConst::dtype);
    f("extents", &AllocateConst::extents);
    f("body", &AllocateConst::body);
    f("annotations", &AllocateConst::annotations, Opaque);
  }
};

/// Declares `buffer`, a view of memory that exists already, for use in `body`.
struct DeclBuffer : StmtNode {
  Buffer buffer;
  Stmt body;
  static constexpr NodeInfo info{"tir.DeclBuffer", &StmtNode::info};
  static void fields(auto f) {
    f("buffer", &DeclBuffer::buffer, Opaque);
    f("body", &DeclBuffer::body);
  }
};

/// Statements one after another; at least two, none of them a SeqStmt (see `sequence`).
struct SeqStmt : StmtNode {
  Array<Stmt> seq;
  static constexpr NodeInfo info{"tir.SeqStmt", &StmtNode::info};
  static void fields(auto f) { f("seq", &SeqStmt::seq); }
};

struct Evaluate : StmtNode {
  PrimExpr value;
  static constexpr NodeInfo info{"tir.Evaluate", &StmtNode::info};
  static void fields(auto f) { f("value", &Evaluate::value); }
};

struct IfThenElse : StmtNode {
  PrimExpr condition;
  Stmt then_case, else_case;
  static constexpr NodeInfo info{"tir.IfThenElse", &StmtNode::info};
  static void fields(auto f) {
    f("condition", &IfThenElse::condition);
    f("then_case", &IfThenElse::then_case);
    f("else_case", &IfThenElse::else_case, Optional);
  }
};

enum class LoopKind : int32_t { Serial = 0, Parallel = 1, Vectorized = 2, Unrolled = 3, ThreadBinding = 4 };

/// Runs `body` once for each `loop_var` in [min, min + extent). A negative extent runs it zero times.
/// Serial and Unrolled iterations happen in order; every other kind promises they are independent.
struct For : StmtNode {
  Var loop_var;
  PrimExpr min, extent;
  LoopKind kind = LoopKind::Serial;
  Stmt body;
  IterVar thread_binding;
  Map<String, ObjectRef> annotations;
  static constexpr NodeInfo info{"tir.For", &StmtNode::info};
  static void fields(auto f) {
    f("loop_var", &For::loop_var, Binds);
    f("min", &For::min);
    f("extent", &For::extent);
    f("kind", &For::kind);
    f("body", &For::body);
    f("thread_binding", &For::thread_binding, Optional | Opaque);
    f("annotations", &For::annotations, Opaque);
  }
};

struct While : StmtNode {
  PrimExpr condition;
  Stmt body;
  static constexpr NodeInfo info{"tir.While", &StmtNode::info};
  static void fields(auto f) {
    f("condition", &While::condition);
    f("body", &While::body);
  }
};

/// Prefetches `bounds` of `buffer`.
struct Prefetch : StmtNode {
  Buffer buffer;
  Array<Range> bounds;
  static constexpr NodeInfo info{"tir.Prefetch", &StmtNode::info};
  static void fields(auto f) {
    f("buffer", &Prefetch::buffer, Opaque);
    f("bounds", &Prefetch::bounds);
  }
};

/// A unit of computation over its own iteration variables, with the regions it reads and writes.
struct BlockNode : StmtNode {
  Array<IterVar> iter_vars;
  Array<BufferRegion> reads, writes;
  String name_hint;
  Stmt body, init;
  Array<Buffer> alloc_buffers;
  Array<MatchBufferRegion> match_buffers;
  Map<String, ObjectRef> annotations;
  static constexpr NodeInfo info{"tir.Block", &StmtNode::info};
  static void fields(auto f) {
    f("iter_vars", &BlockNode::iter_vars, Binds);
    f("reads", &BlockNode::reads);
    f("writes", &BlockNode::writes);
    f("name_hint", &BlockNode::name_hint, Ignored);
    f("alloc_buffers", &BlockNode::alloc_buffers, Binds);
    f("match_buffers", &BlockNode::match_buffers);
    f("annotations", &BlockNode::annotations, Opaque);
    f("init", &BlockNode::init, Optional);
    f("body", &BlockNode::body);
  }
};
using Block = Ref<BlockNode>;

/// Runs `block` with its iteration variables bound to `iter_values`, where `predicate` holds.
struct BlockRealize : StmtNode {
  Array<PrimExpr> iter_values;
  PrimExpr predicate;
  Block block;
  static constexpr NodeInfo info{"tir.BlockRealize", &StmtNode::info};
  static void fields(auto f) {
    f("iter_values", &BlockRealize::iter_values);
    f("predicate", &BlockRealize::predicate);
    f("block", &BlockRealize::block);
  }
};

/// `stmts` in order as one statement: nested sequences flattened, no-ops dropped, a single one as itself.
Stmt sequence(const std::vector<Stmt>& stmts);
/// The statement that does nothing, and the question.
Stmt make_nop();
bool is_nop(const Stmt& stmt);
inline Stmt evaluate(PrimExpr value) { return make(Evaluate{.value = std::move(value)}); }

}  // namespace tessera
