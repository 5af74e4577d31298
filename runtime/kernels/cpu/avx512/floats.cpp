// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/avx512/floats.hpp"

#include <oneapi/dnnl/dnnl.hpp>

namespace lockstep::kernels::cpu::avx512 {

bool usable() noexcept {
    // The answer does not change, and kernels ask for every row.
    static const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
    return isa == dnnl::cpu_isa::avx512_core_bf16 || isa == dnnl::cpu_isa::avx512_core_amx;
}

}  // namespace lockstep::kernels::cpu::avx512
