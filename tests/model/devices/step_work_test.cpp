// SPDX-License-Identifier: Apache-2.0
// Counts the work that a training step gives a GPU; docs/journal/cuda.md has it for full models.
#include "tests/model/step_work.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "model/blocks/layout.hpp"
#include "model/devices/model.hpp"
#include "runtime/device/cuda/cuda_context.hpp"
#include "runtime/device/upload.hpp"

using namespace lockstep;
using tests::cuda_emulation::DeviceWork;
using tests::cuda_emulation::given_by;
using tests::cuda_emulation::Transfers;

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
    CHECK(work.launches() == 286);
    CHECK(work.host_calls() == 43);
    CHECK(work.fills.count == 0);
}

TEST_CASE("a step of the seq2seq model with 17.6M parameters") {
    const DeviceWork work = printed("seq2seq 17.6M", tests::work_of_step(tests::seq2seq_17m(), 2));
    CHECK(work.launches() == 400);
    CHECK(work.host_calls() == 43);
    CHECK(work.fills.count == 0);
}

TEST_CASE("of 64 x 1,024 tokens travel the tokens and four numbers a sequence, by seven calls") {
    auto config = tests::gpt2_124m().narrow;
    config.decoder_layers = 1;
    device::CudaContext ctx(0);
    const train::ParameterStore<CudaSpace> store(model::parameter_table(config),
                                                 train::Precision::bf16);
    const auto model = model::make_model<device::CudaContext>(config, store, ctx);
    const train::Batch batch = tests::batch_of_rows(64, 0, 1024);
    const auto place = [&] { model->upload(batch); };
    for (std::size_t slot = 0; slot < device::upload_slots; ++slot) place();  // takes its memory
    const DeviceWork work = given_by(place);
    constexpr std::int64_t bytes = 4 * (64 * 1024 + 4 * 64) + 64;  // one more offset
    CHECK(work.uploads == Transfers{1, bytes});
    CHECK(work.device_copies == Transfers{1, bytes});
    CHECK(work.launches() == 0);
    CHECK(work.host_calls() == 7);
    ctx.synchronize();
}

TEST_CASE("labels that follow from the tokens are those that are brought") {
    auto config = tests::gpt2_124m().narrow;
    config.decoder_layers = 1;
    auto batch = tests::batch_of_rows(3, 0, 8);
    for (const bool on_gpu : {true, false}) {
        const auto model = on_gpu ? model::make_cuda_model(config, train::Precision::bf16, {})
                                  : model::make_cpu_model(config, train::Precision::bf16, 1);
        model->initialize(1);
        batch.label_starts = {0, 2, 8};
        batch.last_labels = {7, 7, 7};
        std::fill(batch.labels.begin() + 8, batch.labels.begin() + 10, -1);
        std::fill(batch.labels.begin() + 16, batch.labels.end(), -1);
        const auto following = model->evaluate(batch);
        batch.label_starts.clear();
        batch.last_labels.clear();
        const auto given = model->evaluate(batch);
        for (std::size_t row = 0; row < 3; ++row) {
            CHECK(following[row].tokens == (row == 0 ? 8 : row == 1 ? 6 : 0));
            CHECK(following[row].loss == given[row].loss);
            CHECK(following[row].tokens == given[row].tokens);
        }
    }
}

TEST_CASE("a part of the loss more is five kernels more") {
    auto narrow = tests::gpt2_124m();
    narrow.full.decoder_layers = narrow.narrow.decoder_layers = 1;
    const DeviceWork one = tests::work_of_step(narrow, 2), two = tests::work_of_step(narrow, 4);
    CHECK(two.launches() - one.launches() == 5);
}
