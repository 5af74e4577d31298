// SPDX-License-Identifier: Apache-2.0
// How much a training step gives a GPU to do: docs/cuda.md has the counts of the full models.
#include "tests/model/step_work.hpp"

#include <doctest/doctest.h>

#include <sstream>

using namespace lockstep;
using test::cuda_emulation::DeviceWork;

namespace {

DeviceWork printed(const char* name, const DeviceWork& work) {
    std::ostringstream text;
    text << name << ": " << work;
    MESSAGE(text.str());
    return work;
}

}  // namespace

TEST_CASE("a step of GPT-2 124M") {
    const DeviceWork work = printed("GPT-2 124M", tests::work_of_step(tests::gpt2_124m(), 1));
    CHECK(work.launches() <= 344);
    CHECK(work.host_calls() <= 45);
    CHECK(work.fills.count == 1);  // of the positions
}

TEST_CASE("a step of the seq2seq model with 17.6M parameters") {
    const DeviceWork work = printed("seq2seq 17.6M", tests::work_of_step(tests::seq2seq_17m(), 2));
    CHECK(work.launches() <= 618);
    CHECK(work.host_calls() <= 45);
    CHECK(work.fills.count == 2);  // of the encoder's and the decoder's positions
}

TEST_CASE("a part of the loss more is five kernels more") {
    auto narrow = tests::gpt2_124m();
    narrow.full.decoder_layers = narrow.narrow.decoder_layers = 1;
    const DeviceWork one = tests::work_of_step(narrow, 2), two = tests::work_of_step(narrow, 4);
    CHECK(two.launches() - one.launches() == 5);
}
