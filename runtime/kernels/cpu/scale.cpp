// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/scale.hpp"

#include "runtime/kernels/cpu/primitives/parallel.hpp"
#include "runtime/kernels/cpu/primitives/vector_math.hpp"

namespace lockstep::kernels {

template <class T>
void scale(CpuContext& ctx, float factor, HostMatrix<T> x) {
    cpu::parallel_for(ctx, x.rows, x.rows * x.cols, [&](std::int64_t i) {
        T* const row = x.data + i * x.stride;
        for (std::int64_t j = 0; j < x.cols; ++j) cpu::store(row[j], factor * cpu::load(row[j]));
    });
}

template void scale(CpuContext&, float, HostMatrix<float>);
template void scale(CpuContext&, float, HostMatrix<bf16>);

}  // namespace lockstep::kernels
