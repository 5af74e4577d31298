// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu_context.hpp"

#include <omp.h>

#include "runtime/core/error.hpp"

namespace lockstep::device {

CpuContext::CpuContext(int threads) : threads_(threads) {
    require(threads > 0, "a context needs at least one thread");
    omp_set_num_threads(threads);  // the setting of this thread; oneDNN reads it
}

CpuContext::~CpuContext() = default;

}  // namespace lockstep::device
