#pragma once
// Layout rules of operators: how they follow the layouts of their inputs. Operators without one make their inputs go back to
// the layout they had.

#include "relay/layout_rule.h"
#include "relay/make.h"

namespace tessera::op::layout {

using relay::changed_attrs;
using relay::LayoutAnswer;
using relay::LayoutQuery;

/// Nothing is known: the call keeps the layouts it has.
LayoutAnswer unknown(const LayoutQuery& query);
/// The layout that the first of several inputs brings along.
Layout first_defined(const std::vector<Layout>& layouts);

/// All inputs and the result in one layout.
LayoutAnswer elementwise(const LayoutQuery& query);
/// Two operands that broadcast against each other.
LayoutAnswer binary(const LayoutQuery& query);
/// Convolutions have the layouts that their attributes say; others fit in.
LayoutAnswer convolution(const LayoutQuery& query);
LayoutAnswer conv_transpose(const LayoutQuery& query);
/// A transformed weight has no layout that others know; it stays as it is.
LayoutAnswer winograd(const LayoutQuery& query);
LayoutAnswer dense(const LayoutQuery& query);
/// Operators with an attribute `layout` that work on the spatial axes: any layout that does not split those will do, unless
/// the call says which layout its result has.
template <class T>
LayoutAnswer spatial(const LayoutQuery& query);

// Operators whose attributes name axes: these move with the layout.
LayoutAnswer reduction(const LayoutQuery& query);
LayoutAnswer concatenation(const LayoutQuery& query);
LayoutAnswer splitting(const LayoutQuery& query);
LayoutAnswer transposition(const LayoutQuery& query);
LayoutAnswer slicing(const LayoutQuery& query);
LayoutAnswer padding(const LayoutQuery& query);
LayoutAnswer squeezing(const LayoutQuery& query);
LayoutAnswer batch_norm(const LayoutQuery& query);
LayoutAnswer softmax(const LayoutQuery& query);

/// What ConvertLayout makes of a call: one with the layouts that were asked for; "default" means the kernel layout that goes
/// with a data layout.
template <class T>
relay::Expr convert_conv(const Op& op, const Attrs& attrs, const Array<relay::Expr>& args,
                         const Array<String>& desired);
template <class T>
relay::Expr convert_spatial(const Op& op, const Attrs& attrs, const Array<relay::Expr>& args,
                            const Array<String>& desired);

/// What AlterOpLayout makes of convolutions for a CPU: channels in blocks of as many as a vector register holds.
relay::Expr block_conv2d(const Op& op, const Attrs& attrs, const Array<relay::Expr>& args,
                         const Array<ObjectRef>& placeholders, const Type& type,
                         const relay::GraphEnvironment& environment);
relay::Expr block_conv(const Op& op, const Attrs& attrs, const Array<relay::Expr>& args,
                       const Array<ObjectRef>& placeholders, const Type& type,
                       const relay::GraphEnvironment& environment);
relay::Expr block_transposed(const Op& op, const Attrs& attrs, const Array<relay::Expr>& args,
                             const Array<ObjectRef>& placeholders, const Type& type,
                             const relay::GraphEnvironment& environment);

/// The same where the target is a CPU; on GPUs with matrix units convolutions of fp16 and bf16 have their channels last (gpu_layouts.cc).
relay::Expr alter_conv2d(const Op& op, const Attrs& attrs, const Array<relay::Expr>& args,
                         const Array<ObjectRef>& placeholders, const Type& type,
                         const relay::GraphEnvironment& environment);

/// What Legalize makes of contractions for a CPU: data of int8 becomes uint8 where that is what its instructions multiply
/// (unsigned_data.cc), and convolutions lose positions outside of the data (trim_kernels.cc) and get channel padding.
relay::Expr legalize_conv2d(const Op& op, const Attrs& attrs, const Array<relay::Expr>& args, const Array<Type>& types,
                            const relay::GraphEnvironment& environment);
relay::Expr legalize_matmul(const Op& op, const Attrs& attrs, const Array<relay::Expr>& args, const Array<Type>& types,
                            const relay::GraphEnvironment& environment);
relay::Expr legalize_batch_matmul(const Op& op, const Attrs& attrs, const Array<relay::Expr>& args,
                                  const Array<Type>& types, const relay::GraphEnvironment& environment);
/// Convolutions without the positions that read nothing but padding.
relay::Expr trim_kernel(const Op& op, const Attrs& attrs, const Array<relay::Expr>& args, const Array<Type>& types,
                        const relay::GraphEnvironment& environment);
/// The same; what is left is legalised further.
relay::Expr trim_kernel(const Op& op, const Attrs& attrs, const Array<relay::Expr>& args, const Array<Type>& types,
                        const relay::GraphEnvironment& environment, relay::Legalize further);
/// Constant weights whose channels fill vectors.
relay::Expr pad_channels_conv2d(const Op& op, const Attrs& attrs, const Array<relay::Expr>& args,
                                const Array<Type>& types, const relay::GraphEnvironment& environment);
/// Of very few channels of fp16 and bf16 on GPUs with matrix units, those of the data.
relay::Expr pad_few_channels(const Op& op, const Attrs& attrs, const Array<relay::Expr>& args, const Array<Type>& types,
                             const relay::GraphEnvironment& environment);
/// `letter`: of the result's channels in the layout of the weight.
template <char letter>
relay::Expr pad_channels_transposed(const Op& op, const Attrs& attrs, const Array<relay::Expr>& args,
                                    const Array<Type>& types, const relay::GraphEnvironment& environment);

}  // namespace tessera::op::layout
