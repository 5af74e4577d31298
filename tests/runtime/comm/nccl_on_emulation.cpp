// SPDX-License-Identifier: Apache-2.0
#include <nccl.h>

#include "tests/runtime/comm/nccl_ranks.hpp"

namespace lockstep::tests {

int gpu_of(int) { return 0; }  // all ranks share one GPU
const int impatient_ms = 1000;
int left_behind() {
    return emulated_nccl_communicators() + static_cast<int>(emulated_nccl_registered());
}

}  // namespace lockstep::tests
