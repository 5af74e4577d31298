// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/attention/attention_blocks.hpp"

#include <oneapi/dnnl/dnnl.h>

namespace lockstep::kernels::cpu {

void multiply_blocks(MatmulCache& products, int m, int n, int k, Operand<bf16> a, Operand<bf16> b,
                     Into into, float* c, std::int64_t c_stride) {
    const auto factor = [](const Operand<bf16>& x) {
        return x.side == Side::plain ? Factor{x.block.data, Dtype::bf16, x.block.stride, 1}
                                     : Factor{x.block.data, Dtype::bf16, 1, x.block.stride};
    };
    const bool done =
        products.run({m, n, k, factor(a), factor(b), nullptr, c, Dtype::fp32, c_stride, into});
    if (!done) throw Error(ErrorKind::dnnl, "attention: oneDNN has no product of these blocks");
}

// The general product is faster for blocks of floats, and needs no primitive for each length.
void multiply_blocks(MatmulCache&, int m, int n, int k, Operand<float> a, Operand<float> b,
                     Into into, float* c, std::int64_t c_stride) {
    const auto letter = [](Side side) { return side == Side::plain ? 'N' : 'T'; };
    const float beta = into == Into::add ? 1.0f : 0.0f;
    const dnnl_status_t status =
        dnnl_sgemm(letter(a.side), letter(b.side), m, n, k, 1.0f, a.block.data, a.block.stride,
                   b.block.data, b.block.stride, beta, c, c_stride);
    if (status != dnnl_success) product_failed("a product of attention", status);
}

}  // namespace lockstep::kernels::cpu
