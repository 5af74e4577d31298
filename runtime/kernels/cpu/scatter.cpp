// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/scatter.hpp"

#include <algorithm>

#include "runtime/kernels/cpu/primitives/parallel.hpp"

namespace lockstep::kernels {

template <class T>
void scatter_rows(CpuContext& ctx, HostView<const std::int64_t> indices, HostMatrix<const T> from,
                  HostMatrix<T> to) {
    require(static_cast<std::int64_t>(indices.size()) == from.rows && from.cols == to.cols,
            "scatter: shapes differ");
    for (const std::int64_t index : indices)
        require(index >= 0 && index < to.rows, "scatter: an index outside of the matrix");
    cpu::parallel_for(ctx, from.rows, from.rows * from.cols, [&](std::int64_t i) {
        std::copy_n(from.data + i * from.stride, from.cols,
                    to.data + indices[static_cast<std::size_t>(i)] * to.stride);
    });
}

template void scatter_rows(CpuContext&, HostView<const std::int64_t>, HostMatrix<const float>,
                           HostMatrix<float>);
template void scatter_rows(CpuContext&, HostView<const std::int64_t>, HostMatrix<const bf16>,
                           HostMatrix<bf16>);

void add_gathered_rows(CpuContext& ctx, HostView<const std::int32_t> slots,
                       HostMatrix<const float> from, HostMatrix<float> to) {
    require(static_cast<std::int64_t>(slots.size()) == to.rows && from.cols == to.cols,
            "gathered rows: shapes differ");
    cpu::parallel_for(ctx, to.rows, to.rows * to.cols, [&](std::int64_t i) {
        const std::int64_t slot = slots[static_cast<std::size_t>(i)];
        if (slot < 0 || slot >= from.rows) return;
        for (std::int64_t j = 0; j < to.cols; ++j)
            to.data[i * to.stride + j] += from.data[slot * from.stride + j];
    });
}

}  // namespace lockstep::kernels
