// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "bench/cuda/kernel_table.hpp"

namespace lockstep::bench {

// The default sizes are those of GPT-2's training. Heads have 64 columns.
struct KernelSizes {
    std::int64_t rows = 65536, d = 768, vocabulary = 50304;

    std::int64_t logit_rows() const { return std::max<std::int64_t>(1, rows / 16); }
    std::int64_t length() const { return std::min<std::int64_t>(1024, rows); }
    std::int64_t sequences() const { return rows / length(); }
};

// Each function prints rows of the table. The flat kernels begin with the copy, and the products
// with the largest square one: later rows of the same type are compared with them. T: float, bf16,
// fp16.
void time_flat_kernels(CudaContext& ctx, KernelTable& table, const KernelSizes& sizes);
template <class T>
void time_products(CudaContext& ctx, KernelTable& table, const KernelSizes& sizes);
template <class T>
void time_row_kernels(CudaContext& ctx, KernelTable& table, const KernelSizes& sizes);
template <class T>
void time_token_kernels(CudaContext& ctx, KernelTable& table, const KernelSizes& sizes);
template <class T>
void time_attention(CudaContext& ctx, KernelTable& table, const KernelSizes& sizes);

}  // namespace lockstep::bench
