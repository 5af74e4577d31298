// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu_context.hpp"

#include <omp.h>

#include <algorithm>
#include <string>

#include "runtime/core/error.hpp"

namespace lockstep::device {

namespace {

// oneDNN divides a product for that many threads before they start, so with fewer of them parts of
// it would be left out.
void require_team(int threads) {
    int found = 1;
#pragma omp parallel num_threads(threads)
#pragma omp master
    found = omp_get_num_threads();
    if (found == threads) return;
    throw Error(ErrorKind::config,
                "OpenMP gives " + std::to_string(found) + " of the " + std::to_string(threads) +
                    " threads; unset OMP_THREAD_LIMIT, or give --threads " + std::to_string(found));
}

}  // namespace

CpuContext::CpuContext(int threads) : threads_(threads) {
    require(threads > 0, "a context needs at least one thread");
    // These are the settings of this thread, and oneDNN reads them. The environment may have others
    // (OMP_NUM_THREADS, OMP_DYNAMIC, OMP_MAX_ACTIVE_LEVELS).
    omp_set_num_threads(threads);
    omp_set_dynamic(0);
    omp_set_max_active_levels(std::max(1, omp_get_max_active_levels()));
    require_team(threads);
}

CpuContext::~CpuContext() = default;

}  // namespace lockstep::device
