#pragma once
// Options of a compilation as text, the way the command line and `tvmc` take them.

#include <string>
#include <string_view>

#include "ir/pass/pass.h"
#include "ir/target/target.h"

namespace tessera {

/// By kind of target and name of option: {"llvm": {"mcpu": "skylake"}}.
using TargetOptionTexts = Map<String, Map<String, String>>;

/// The target that `--target` names: "llvm -mcpu=skylake", a JSON object, the path of a file that holds one, or a list of
/// a target and its host, "cuda -arch=sm_80, llvm". A comma right before an option's next value ("-mattr=+avx2,+fma")
/// separates nothing. `options` are those of `--target-<kind>-<option>`; a kind that the text does not name is an error.
Target target_from_text(const std::string& text, const TargetOptionTexts& options = {});

/// The target with another CPU for what runs on CPUs: the target itself where it is "llvm", else its host.
Target with_cpu(const Target& target, const std::string& cpu);

/// Names of Relay passes, "FoldConstant, AlterOpLayout"; one that there is none of is a ValueError.
Array<String> parse_pass_list(std::string_view text);

/// Options of a PassContext, each "name=value". What a value can be is the option's own business: a number or true and false,
/// a text, or for "tir.add_lower_pass" phases and passes in turn, "1,UnrollLoop,2,Simplify".
Map<String, ObjectRef> parse_pass_configs(const Array<String>& texts);

}  // namespace tessera
