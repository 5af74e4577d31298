// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/kernels/cuda/attention_under_test.hpp"

using namespace lockstep;
using namespace lockstep::tests;

namespace {

struct SmallSharedMemory {
    SmallSharedMemory() { emulated_shared_memory(99 << 10); }
    ~SmallSharedMemory() { emulated_shared_memory(163 << 10); }
};

}  // namespace

TEST_CASE_TEMPLATE("CUDA's attention takes what shared memory the smaller GPUs have", T, float,
                   bf16, fp16) {
    const SmallSharedMemory small;
    for (const int head_dim : {64, 128, 200})
        for (const std::int64_t misaligned : {0, 1}) {
            CAPTURE(head_dim);
            CAPTURE(misaligned);
            check_against_reference<T>(
                make_input({2, head_dim, Mask::causal}, {1, 33, 65}, {1, 33, 65}, 0.25), 4,
                misaligned, AttentionLibrary::never);
        }
}
