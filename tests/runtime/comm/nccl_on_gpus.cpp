// SPDX-License-Identifier: Apache-2.0
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>

#include "runtime/comm/nccl/nccl_library.hpp"
#include "runtime/device/cuda/cuda_devices.hpp"
#include "tests/runtime/comm/nccl_ranks.hpp"

namespace lockstep::tests {

int gpu_of(int rank) { return rank; }
const int impatient_ms = 10'000;
int left_behind() { return 0; }

}  // namespace lockstep::tests

namespace {

constexpr int max_ranks = 4;  // maximum of a test

// NCCL refuses two ranks of a process on one GPU.
void leave_out_more_ranks_than(int gpus, doctest::Context& tests) {
    for (int ranks = gpus + 1; ranks <= max_ranks; ++ranks) {
        const std::string suite = std::to_string(ranks) + " ranks";
        tests.addFilter("test-suite-exclude", suite.c_str());
        std::printf("not run: the tests of %s, since NCCL wants a GPU for each and %d %s visible\n",
                    suite.c_str(), gpus, gpus == 1 ? "is" : "are");
    }
}

}  // namespace

// Exit code 77 tells ctest that the tests were skipped.
int main(int argc, char** argv) {
    const int gpus = lockstep::device::visible_gpus();
    if (gpus == 0) {
        std::printf("skipped: %s\n", lockstep::device::why_no_gpu().c_str());
        return 77;
    }
    try {
        const lockstep::comm::NcclLibrary library;
        std::printf("NCCL %s, GPUs: %d\n", library.version().c_str(), gpus);
    } catch (const lockstep::Error& error) {
        std::printf("skipped: %s\n", error.what());
        return 77;
    }
    doctest::Context tests(argc, argv);
    leave_out_more_ranks_than(gpus, tests);
    return tests.run();
}
