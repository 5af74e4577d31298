// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu_context.hpp"

#include <doctest/doctest.h>
#include <omp.h>

using namespace lockstep;

TEST_CASE("a context's regions have all of its threads, whatever OpenMP was told before") {
    omp_set_dynamic(1);
    omp_set_max_active_levels(0);
    omp_set_num_threads(1);
    const device::CpuContext context(3);
    CHECK(omp_get_dynamic() == 0);
    int found = 0;
#pragma omp parallel
#pragma omp master
    found = omp_get_num_threads();
    CHECK(found == 3);
}
