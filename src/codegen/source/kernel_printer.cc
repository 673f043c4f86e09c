#include "codegen/source/kernel_printer.h"

#include <algorithm>

#include "ir/rewrite.h"
#include "tir/analysis/checked_index_texts.h"
#include "tir/attrs.h"
#include "tir/transform/thread/split_host_device.h"

namespace tessera::codegen {
namespace {

/// Pointers that the kernel only reads from.
std::unordered_set<const VarNode*> read_only(const PrimFunc& function) {
  std::unordered_set<const VarNode*> out;
  for (const Var& param : function->params)
    if (param->dtype.is_handle()) out.insert(param.get());
  walk(
      function->body, [&](const BufferStore* op) { out.erase(op->buffer->data.get()); },
      [&](const VarNode* var) { out.erase(var); },  // handed on as a pointer
      [&](const Call* op) {
        if (!builtin::is(op, builtin::address_of())) return;
        if (auto* load = op->args[0].as<BufferLoad>()) out.erase(load->buffer->data.get());
      });
  return out;
}

/// Whether the kernel loads from memory of the caller that it also writes.
bool reads_what_it_writes(const PrimFunc& function, const std::unordered_set<const VarNode*>& read_only) {
  std::unordered_set<const VarNode*> written;
  for (const Var& param : function->params)
    if (param->dtype.is_handle() && !read_only.count(param.get())) written.insert(param.get());
  bool out = false;
  walk(function->body, [&](const BufferLoad* op) { out = out || written.count(op->buffer->data.get()); });
  return out;
}

DataType pointed_to(const VarNode* var) {
  auto* type = var->type_annotation.as<PointerType>();
  auto* element = type ? type->element_type.as<PrimType>() : nullptr;
  return element ? element->dtype : DataType::Void();
}

/// An untyped pointer's element, from what is read and written through it.
DataType used_as(const VarNode* var, const Stmt& body) {
  DataType out = DataType::Void();
  auto note = [&](const Buffer& buffer) {
    if (buffer->data.get() == var && out.is_void()) out = buffer->dtype;
  };
  walk(body, [&](const BufferLoad* op) { note(op->buffer); }, [&](const BufferStore* op) { note(op->buffer); });
  return out;
}

}  // namespace

void KernelPrinter::add_kernel(const GlobalVar& var, const PrimFunc& function) {
  if (function->attrs.get_int(attr::kCallingConv, 0) != static_cast<int>(CallingConv::DeviceKernelLaunch))
    throw Error(ValueError) << "function " << var->name_hint
                            << " is no kernel: it has no calling convention of device launches (run SplitHostDevice)";
  std::string name = symbol_of(var, function);
  KernelInfo info{.name = name, .arg_types = {}, .launch_tags = {}};
  start_function();
  used_names_[name] = 1;
  shared_.clear();
  look_at(function);

  std::unordered_set<const VarNode*> constant = read_only(function);
  // NVIDIA's compilers (CUDA 13.0, OpenCL too) merge `c ? written[i] : read_only[j]` into one load of a selected address and,
  // when all that is written is restricted, make it ld.global.nc, which may return what `written` held before.
  bool is_restricted = function->attrs.is_true(attr::kNoAlias) && !reads_what_it_writes(function, constant);
  std::string params;
  for (const Var& param : function->params) {
    const VarNode* node = param.get();
    if (!params.empty()) params += ", ";
    DataType dtype = param->dtype;
    if (dtype.is_handle()) {
      DataType element = pointed_to(node);
      if (element.is_void() || element.is_handle()) element = used_as(node, function->body);
      std::string text = element.is_void() ? "void" : memory_type(element.element());
      memory_[node] = {text, "global"};
      params += pointer_parameter(text, define(node), constant.count(node) > 0, is_restricted);
    } else if (dtype.is_floating() && dtype.bits == 16) {  // travels as a wider one
      throw Error(NotImplementedError) << "kernel " << name << ": scalar arguments of type " << dtype
                                       << " are not supported";
    } else {
      DataType passed = dtype.is_bool() ? DataType::UInt(8) : dtype;
      params += value_type(passed) + " " + define(node);
      dtype = passed;
    }
    info.arg_types.push_back(dtype);
  }
  info.checked_indices = checked_index_texts(function->body);
  if (!info.checked_indices.empty()) {
    index_errors_ = fresh_name("index_errors");
    checked_indices_ = info.checked_indices;
    params += (params.empty() ? "" : ", ") +
              pointer_parameter(memory_type(DataType::Int(64)), index_errors_, /*is_const=*/false, is_restricted);
  }
  params += more_parameters(function, &info);

  BlockSize size{1, 1, 1};
  walk(function->body, [&](const AttrStmt* op) {
    auto* axis = op->node.as<IterVarNode>();
    if (!axis || op->attr_key != attr::kThreadExtent) return;
    std::string tag = axis->thread_tag.str();
    const int64_t* extent = as_int(op->value);
    if (tag.starts_with("threadIdx.")) size[static_cast<size_t>(tag.back() - 'x')] = extent ? *extent : 0;
  });
  if (auto* axes = function->attrs.get_attr(attr::kDeviceThreadAxis).as<ArrayNode>())
    for (const ObjectRef& axis : axes->items) info.launch_tags.push_back(downcast<IterVar>(axis)->thread_tag.str());
  if (function->attrs.is_true(attr::kDeviceUseDynSharedMemory)) info.launch_tags.push_back(kDynamicSharedMemoryTag);

  try {
    indent_ = 1;
    std::string body = captured([&] { emit(function->body); });
    indent_ = 0;
    done_ += kernel_head(name, params, size) + " {\n" + shared_ + body + "}\n\n";
  } catch (Error& error) {
    indent_ = 0;
    throw Error(error.kind(), error.message() + "\n  in kernel " + name);
  }
  kernels_[name] = info;
}

std::string KernelPrinter::finish() {
  std::string out = prelude();
  for (const auto& [name, definition] : helpers_) out += definition;
  return out + "\n" + done_;
}

bool KernelPrinter::visit_attr(const AttrStmt* op) {
  if (visit_device_attr(op)) return true;
  auto* axis = op->node.as<IterVarNode>();
  if (axis && op->attr_key == attr::kThreadExtent) {
    define(axis->var.get(), thread_index(axis->thread_tag.str(), axis->var->dtype));
    emit(op->body);
    return true;
  }
  if (axis && op->attr_key == attr::kVirtualThread)
    throw Error(ValueError) << "a virtual thread in code for a device; run InjectVirtualThread first";
  return false;
}

bool KernelPrinter::visit_call(const Call* op, Lanes* out) {
  if (visit_device_call(op, out)) return true;
  if (is_call(op, "tir.checked_index")) return *out = checked_index(op), true;
  if (!builtin::is(op, builtin::tvm_storage_sync())) return false;
  auto* scope = op->args.empty() ? nullptr : op->args[0].as<StringImm>();
  std::string text = scope ? barrier(scope->value.str()) : "";
  if (!text.empty()) line(text + ";");
  *out = {""};
  return true;
}

/// A bad index becomes 0 and is noted in the record of its text (IndexErrorRecord in runtime/index_error.h), which the host
/// reads when it next waits for the device. Threads that write the same record all write a bad index.
Lanes KernelPrinter::checked_index(const Call* op) {
  std::string type = value_type(DataType::Int(64)), pointer = pointer_to(type, "global");
  need("tsr_checked_index", std::string(inline_function()) + " " + type + " tsr_checked_index(" + type + " i, " + type +
                                " n, " + pointer + " record) {\n  " + type + " at = i < 0 ? i + n : i;\n" +
                                "  if (at >= 0 && at < n) return at;\n" +
                                "  record[1] = i;\n  record[2] = n;\n  record[0] = 1;\n  return 0;\n}\n");
  auto text = std::find(checked_indices_.begin(), checked_indices_.end(), op->args[2].as<StringImm>()->value.str());
  std::string record = index_errors_ + " + " + std::to_string(kIndexErrorWords * (text - checked_indices_.begin()));
  Lanes index = emit(op->args[0]), extent = emit(op->args[1]), out;
  for (size_t lane = 0; lane < index.size(); ++lane)
    out.push_back("((" + value_type(op->dtype.element()) + ")tsr_checked_index(" + index[lane] + ", " +
                  extent[extent.size() == 1 ? 0 : lane] + ", " + record + "))");
  return out;
}

void KernelPrinter::allocate(const Allocate* op, int64_t count) {
  const VarNode* var = op->buffer_var.get();
  auto* type = var->type_annotation.as<PointerType>();
  std::string scope = type && !type->storage_scope.empty() ? type->storage_scope.str() : "global";
  if (scope == "global")
    throw Error(ValueError) << "allocation of " << var->name
                            << " in global memory inside a kernel; give it the scope shared or local";
  std::string element = array_type(op->dtype.element());
  memory_[var] = {element, scope};
  constexpr int kVectorBytes = 16;  // the widest access
  std::string text = declare_array(element, define(var), count, kVectorBytes, scope);
  if (scope.starts_with("shared")) shared_ += "  " + text + "\n";
  else line(text);
}

std::string KernelPrinter::call_extern(const std::string& name, const Call* op, size_t first_argument) {
  std::string args;
  for (size_t i = first_argument; i < op->args.size(); ++i) {
    DataType dtype = op->args[i].dtype();
    args += (i > first_argument ? ", " : "") + (dtype.lanes > 1 ? pack(emit(op->args[i]), dtype) : text(op->args[i]));
  }
  return name + "(" + args + ")";
}

}  // namespace tessera::codegen
