// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/avx512/dropout_rows.hpp"

#include "runtime/kernels/cpu/avx512/floats.hpp"
#include "runtime/kernels/cpu/avx512/masked_vectors.hpp"

namespace lockstep::kernels::cpu::avx512 {

[[gnu::target("arch=x86-64-v4,avx512bf16")]] void dropout_row(const RowMask& mask,
                                                              std::int64_t first, const bf16* x,
                                                              bf16* y, std::int64_t n) noexcept {
    for_masked_vectors(
        mask, first, n,
        [&](std::int64_t j, auto part, auto masked)
            __attribute__((target("arch=x86-64-v4,avx512bf16"), always_inline)) {
                store(y + j, masked(load(x + j, part)), part);
            });
}

}  // namespace lockstep::kernels::cpu::avx512
