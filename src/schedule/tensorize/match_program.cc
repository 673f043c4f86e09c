#include "schedule/tensorize/match_program.h"

#include <bit>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "runtime/containers.h"

namespace tessera::schedule {
namespace {

class Matcher {
 public:
  ProgramMatch run(const Stmt& program, const Stmt& desc) {
    if (match(program, desc)) result_.difference.clear();
    else if (result_.difference.empty()) differ("the statements", program, desc);
    return std::move(result_);
  }

 private:
  bool match(const ObjectRef& ours, const ObjectRef& theirs) {
    if (!ours || !theirs) return !ours && !theirs;
    if (auto* var = theirs.as<VarNode>()) {
      auto found = vars_.find(var);
      return found != vars_.end() ? found->second.same_as(ours) : theirs.same_as(ours);
    }
    if (auto* load = theirs.as<BufferLoad>()) {
      auto* own = ours.as<BufferLoad>();
      return own && match_access(own->buffer, own->indices, load->buffer, load->indices);
    }
    if (ours->type() != theirs->type())
      return differ(ours.as<StmtNode>() ? "the statements" : "the expressions", ours, theirs);
    if (auto* loop = theirs.as<For>()) return match_loop(ours.as<For>(), loop);
    if (auto* block = theirs.as<BlockNode>()) return match_block(ours.as<BlockNode>(), block);
    if (auto* store = theirs.as<BufferStore>()) {
      auto* own = ours.as<BufferStore>();
      return match_access(own->buffer, own->indices, store->buffer, store->indices) &&
             (match(own->value, store->value) || differ("what is stored", own->value, store->value));
    }
    if (auto* text = theirs.as<StringNode>()) return ours.as<StringNode>()->text == text->text;
    if (auto* list = theirs.as<ArrayNode>()) return match_lists(ours.as<ArrayNode>(), list);
    if (theirs.as<MapNode>()) return match_maps(ours.as<MapNode>(), theirs.as<MapNode>());
    if (ours.same_as(theirs)) return true;
    if (ours->type()->node->role == Role::Identity) return false;
    return match_fields(ours.get(), theirs.get());
  }

  bool match_fields(const Object* ours, const Object* theirs) {
    for (const Field& field : ours->type()->fields()) {
      if (field.flags & Ignored) continue;
      bool is_same = true;
      switch (field.kind) {
        case FieldKind::Bool: is_same = field.at<bool>(ours) == field.at<bool>(theirs); break;
        case FieldKind::Int32: is_same = field.at<int32_t>(ours) == field.at<int32_t>(theirs); break;
        case FieldKind::Int64: is_same = field.at<int64_t>(ours) == field.at<int64_t>(theirs); break;
        case FieldKind::DType: is_same = field.at<DataType>(ours) == field.at<DataType>(theirs); break;
        case FieldKind::Double:
          is_same =
              std::bit_cast<uint64_t>(field.at<double>(ours)) == std::bit_cast<uint64_t>(field.at<double>(theirs));
          break;
        case FieldKind::Ref: is_same = match(field.at<ObjectRef>(ours), field.at<ObjectRef>(theirs)); break;
      }
      if (!is_same) return false;
    }
    return true;
  }

  bool match_lists(const ArrayNode* ours, const ArrayNode* theirs) {
    if (ours->items.size() != theirs->items.size()) return false;
    for (size_t i = 0; i < ours->items.size(); ++i)
      if (!match(ours->items[i], theirs->items[i])) return false;
    return true;
  }

  bool match_maps(const MapNode* ours, const MapNode* theirs) {
    if (ours->entries.size() != theirs->entries.size()) return false;
    for (const auto& [key, value] : theirs->entries) {
      const ObjectRef* own = ours->find(key.get());
      if (!own || !match(*own, value)) return false;
    }
    return true;
  }

  bool match_loop(const For* ours, const For* theirs) {
    if (!same_value(ours->min, theirs->min) || !same_value(ours->extent, theirs->extent))
      return differ("the range of loop " + ours->loop_var->name.str(), ours->extent, theirs->extent);
    if (ours->kind != theirs->kind || !match(ours->thread_binding, theirs->thread_binding))
      return differ("the kind of loop " + ours->loop_var->name.str(), Stmt(ours), Stmt(theirs));
    if (!match(ours->annotations, theirs->annotations))
      return differ("the annotations of loop " + ours->loop_var->name.str(), ours->annotations, theirs->annotations);
    bind(theirs->loop_var, ours->loop_var, range_of(ours));
    return match(ours->body, theirs->body);
  }

  bool match_block(const BlockNode* ours, const BlockNode* theirs) {
    std::string name = "block " + quoted(ours->name_hint);
    if (ours->iter_vars.size() != theirs->iter_vars.size())
      return differ("the axes of " + name, ours->iter_vars, theirs->iter_vars);
    for (size_t i = 0; i < ours->iter_vars.size(); ++i) {
      const IterVar own = ours->iter_vars[i], other = theirs->iter_vars[i];
      if (own->iter_type != other->iter_type || !same_value(own->dom->min, other->dom->min) ||
          !same_value(own->dom->extent, other->dom->extent))
        return differ("axis " + own->var->name.str() + " of " + name, own, other);
      bind(other->var, own->var, own->dom);
    }
    if (!match(ours->annotations, theirs->annotations))
      return differ("the annotations of " + name, ours->annotations, theirs->annotations);
    if (ours->init.defined() != theirs->init.defined())
      return fail(name + (ours->init ? " has an init and the description none; decompose the reduction first"
                                     : " has no init and the description has"));
    if (!ours->alloc_buffers.empty() || !theirs->alloc_buffers.empty() || !ours->match_buffers.empty() ||
        !theirs->match_buffers.empty())
      return fail(name + " or its description has buffers of its own");
    return match(ours->init, theirs->init) && match(ours->body, theirs->body);
  }

  void bind(const Var& theirs, const Var& ours, const Range& domain) {
    vars_[theirs.get()] = ours;
    bound_.set(ours, PrimExpr(1));
    analyzer_.bind(ours, domain);
  }

  /// An expression of the description over the program's variables.
  PrimExpr placed(const PrimExpr& e) {
    return substitute(e, [&](const Var& var) {
      auto found = vars_.find(var.get());
      return found == vars_.end() ? PrimExpr() : PrimExpr(found->second);
    });
  }
  bool same_value(const PrimExpr& ours, const PrimExpr& theirs) {
    return analyzer_.can_prove_equal(ours, cast(ours.dtype(), placed(theirs)));
  }

  /// The first access of a buffer tells where the description's view of it begins; the others must agree.
  bool match_access(const Buffer& ours, const Array<PrimExpr>& our_indices, const Buffer& theirs,
                    const Array<PrimExpr>& their_indices) {
    if (ours->dtype != theirs->dtype) return differ("the type of " + ours->name.str(), ours->dtype, theirs->dtype);
    if (ours->scope() != theirs->scope())
      return fail(ours->name.str() + " lies in " + ours->scope() + " memory, " + theirs->name.str() +
                  " of the description in " + theirs->scope());
    if (our_indices.size() < their_indices.size())
      return fail(ours->name.str() + " has " + std::to_string(our_indices.size()) + " dimensions, " +
                  theirs->name.str() + " of the description " + std::to_string(their_indices.size()));
    Array<PrimExpr> base;
    size_t lead = our_indices.size() - their_indices.size();
    for (size_t i = 0; i < our_indices.size(); ++i) {
      PrimExpr begin = our_indices[i];
      if (i >= lead) begin = begin - cast(begin.dtype(), placed(their_indices[i - lead]));
      begin = analyzer_.simplify(begin);
      if (uses_var(begin, [&](const VarNode* var) { return bound_.count(Var(var)) > 0; }))
        return fail("index " + std::to_string(i) + " of " + ours->name.str() + " is " + to_text(our_indices[i]) +
                    (i < lead ? ", which the description of " + theirs->name.str() + " has no dimension for"
                              : ", in the description of " + theirs->name.str() + " it is " +
                                    to_text(their_indices[i - lead])));
      base.push_back(begin);
    }
    auto [view, is_new] = result_.views.try_emplace(theirs.get(), BufferView{ours, base});
    if (is_new) return true;
    if (!view->second.buffer.same_as(ours))
      return fail(theirs->name.str() + " of the description is both " + view->second.buffer->name.str() + " and " +
                  ours->name.str());
    for (size_t i = 0; i < base.size(); ++i)
      if (!analyzer_.can_prove_equal(base[i], view->second.base[i]))
        return differ("where " + theirs->name.str() + " begins", base[i], view->second.base[i]);
    return true;
  }

  bool fail(std::string what) {
    if (result_.difference.empty()) result_.difference = std::move(what);
    return false;
  }
  template <class A, class B>
  bool differ(const std::string& what, const A& ours, const B& theirs) {
    return fail(what + (what.ends_with("s") ? " differ: " : " differs: ") + text(ours) + " here, " + text(theirs) +
                " in the description");
  }
  static std::string text(const ObjectRef& object) { return to_text(object); }
  static std::string text(const DataType& dtype) { return dtype.str(); }

  ProgramMatch result_;
  arith::Analyzer analyzer_;
  std::unordered_map<const VarNode*, Var> vars_;  // of the description to the program's
  Map<Var, PrimExpr> bound_;                      // of the program, inside what is compared
};

}  // namespace

ProgramMatch match_program(const Stmt& program, const Stmt& desc) { return Matcher().run(program, desc); }

}  // namespace tessera::schedule
