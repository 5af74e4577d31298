// SPDX-License-Identifier: Apache-2.0
#include "launcher/options/stored_options.hpp"
#include "runtime/train/checkpoint/checkpoint.hpp"
#include "tests/fuzz/target.hpp"

using namespace lockstep;

// The input is the state.json of a checkpoint.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::write_input("state.json", {data, size});
    fuzz::expect_answer([] { (void)train::read_run_record("."); });
    fuzz::expect_answer([] { (void)launcher::stored_options(".", "."); });
    return 0;
}
