#include "relay/transform/layout/layout_rewrite.h"

#include <map>

#include "ir/rewrite.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "te/tensor.h"

namespace tessera::relay {
namespace {

/// A value on its way: `value` lies in `now`, what stands for it in the program lay in `before`.
struct AlteredExpr : TempExprNode {
  Expr value;
  Layout before, now;
  static constexpr NodeInfo info{"relay.alter_op_layout.LayoutAlternatedExpr", &TempExprNode::info, Role::Identity};
  static void fields(auto f) { f("value", &AlteredExpr::value, Opaque); }
};
register_types<AlteredExpr> layout_rewrite_types;

Expr altered(Expr value, Layout before, Layout now) {
  AlteredExpr node;
  node.span = value->span;
  node.value = std::move(value);
  node.before = std::move(before);
  node.now = std::move(now);
  return make(std::move(node));
}

class LayoutRewriter {
 public:
  explicit LayoutRewriter(const AlterCall& alter) : alter_(alter) {}

  Expr operator()(const Expr& root) {
    Rewriter rewriter;
    rewriter.on([this](Rewriter& self, const Call* call) -> Expr {
      Array<Expr> args;
      for (const Expr& arg : call->args) args.push_back(self(arg));
      Expr out = changed(call, args);
      return out ? out : with_args(call, args);
    });
    rewriter.on([](Rewriter& self, const TupleGetItem* get) -> Expr {
      Expr tuple = self(get->tuple);
      if (auto* made = tuple.as<Tuple>()) return made->fields_[static_cast<size_t>(get->index)];
      return with(get, &TupleGetItem::tuple, tuple);
    });
    Expr out = rewriter(root);
    // What nobody followed goes back to the layout it had.
    return rewrite(out, [this](Rewriter& self, const AlteredExpr* expr) -> Expr {
      return self(moved(expr->value, expr->now, expr->before));
    });
  }

 private:
  /// The inputs of a call, tuples opened.
  struct Inputs {
    std::vector<Layout> before, now;
    Array<Expr> args;  // in the layouts of `now`
  };

  static void add_input(const Expr& arg, Inputs* out, Array<Expr>* args) {
    auto* on_its_way = arg.as<AlteredExpr>();
    out->before.push_back(on_its_way ? on_its_way->before : undefined_layout());
    out->now.push_back(on_its_way ? on_its_way->now : undefined_layout());
    args->push_back(on_its_way ? on_its_way->value : arg);
  }

  static Inputs inputs_of(const Array<Expr>& args) {
    Inputs out;
    for (const Expr& arg : args) {
      auto* tuple = arg.as<Tuple>();
      if (!tuple) {
        add_input(arg, &out, &out.args);
        continue;
      }
      Array<Expr> fields;
      for (const Expr& field : tuple->fields_) add_input(field, &out, &fields);
      out.args.push_back(make_tuple(fields));
    }
    return out;
  }

  /// One operator may take for NHWC what another made as NCHW. Such a value is brought back to where it lay, and is then
  /// seen as its consumer sees it.
  void restore_renamed(const Array<Layout>& read_as, Inputs* inputs) {
    Array<Layout> back;
    std::vector<Layout> seen = inputs->now;
    for (size_t i = 0; i < seen.size(); ++i) {
      bool is_renamed = is_defined(inputs->before[i]) && !same_layout(inputs->before[i], read_as[i]);
      back.push_back(is_renamed ? inputs->before[i] : inputs->now[i]);
      if (is_renamed) seen[i] = read_as[i];
    }
    inputs->args = moved_inputs(inputs->args, inputs->now, back);
    inputs->now = seen;
  }

  /// The call in new layouts, or empty.
  Expr changed(const Call* call, const Array<Expr>& args) {
    if (!call->op.as<OpNode>()) return nullptr;
    Inputs inputs = inputs_of(args);
    Array<Type> types;
    for (const Expr& arg : call->args) types.push_back(checked_type(arg));

    LayoutAnswer old = ask_layout_rule(call, {call->attrs, {}, inputs.before, types});
    if (!old) return nullptr;
    restore_renamed(old->input_layouts, &inputs);
    for (size_t i = 0; i < inputs.now.size(); ++i)
      if (!is_defined(inputs.now[i])) inputs.now[i] = old->input_layouts[i];

    Expr made = alter_(call, old->new_attrs, inputs.args);
    if (!made) made = make_call(call->op, inputs.args, old->new_attrs, call->type_args, call->span);
    auto* next = made.as<Call>();
    if (!next || !next->op.as<OpNode>()) throw Error(TypeError) << "altering the layout of a call must give a call";
    LayoutAnswer now = ask_layout_rule(next, {next->attrs, inputs.now, old->input_layouts.vec(), types});
    if (!now || now->output_layouts.size() != old->output_layouts.size()) return nullptr;

    Array<Expr> moved_args = moved_inputs(next->args, inputs.now, now->input_layouts);
    Expr out = make_call(next->op, moved_args, now->new_attrs, next->type_args, call->span);
    if (!call->checked_type_.as<TupleType>()) return altered(out, old->output_layouts[0], now->output_layouts[0]);
    Array<Expr> fields;
    for (size_t i = 0; i < now->output_layouts.size(); ++i)
      fields.push_back(
          altered(make_get_item(out, static_cast<int>(i)), old->output_layouts[i], now->output_layouts[i]));
    return make_tuple(fields);
  }

  Array<Expr> moved_inputs(const Array<Expr>& args, const std::vector<Layout>& from, const Array<Layout>& to) {
    size_t next = 0;
    auto move = [&](const Expr& arg) {
      Expr out = next < from.size() ? moved(arg, from[next], to[next]) : arg;
      ++next;
      return out;
    };
    Array<Expr> out;
    for (const Expr& arg : args) {
      auto* tuple = arg.as<Tuple>();
      if (!tuple) {
        out.push_back(move(arg));
        continue;
      }
      Array<Expr> fields;
      for (const Expr& field : tuple->fields_) fields.push_back(move(field));
      out.push_back(make_tuple(fields));
    }
    return out;
  }

  /// `value` from one layout to another. Dimensions it lacks are put in front first; a scalar fits everywhere.
  Expr moved(const Expr& value, const Layout& from, const Layout& to) {
    if (same_layout(from, to)) return value;
    auto key = std::make_tuple(static_cast<const Object*>(value.get()), from->name.str(), to->name.str());
    if (auto it = moved_.find(key); it != moved_.end()) return it->second.second;
    Expr out = value;
    Layout source = from;
    size_t lacks = primal_count(to) > primal_count(from) ? primal_count(to) - primal_count(from) : 0;
    if (lacks > 0) {
      if (primal_count(from) == 0) return value;
      source = with_primal_axes_of(from, to);
      out = expand_dims(out, 0, static_cast<int>(lacks));
    }
    if (!same_layout(source, to)) out = layout_transform(out, source->name, to->name);
    moved_.emplace(key, std::make_pair(value, out));
    return out;
  }

  const AlterCall& alter_;
  std::map<std::tuple<const Object*, std::string, std::string>, std::pair<Expr, Expr>> moved_;
};

}  // namespace

Expr rewrite_layouts(const Expr& root, const AlterCall& alter) { return LayoutRewriter(alter)(root); }

Array<ObjectRef> placeholders_of(const Array<Expr>& args) {
  Array<ObjectRef> out;
  auto add = [&](const Type& type) {
    auto* tensor = type.as<TensorTypeNode>();
    if (tensor) out.push_back(te::placeholder(tensor->shape, tensor->dtype, "placeholder"));
  };
  for (const Expr& arg : args) {
    const Type& type = checked_type(arg);
    auto* tuple = type.as<TupleType>();
    if (!tuple) add(type);
    else
      for (const Type& field : tuple->fields_) add(field);
  }
  return out;
}

}  // namespace tessera::relay
