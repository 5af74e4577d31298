// SPDX-License-Identifier: Apache-2.0
// A checkpoint continues with the optimizer in the host's memory and without, in either direction:
// losses, weights and moments are those of an uninterrupted run, bit for bit.
#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "runtime/comm/queue/local_communicator.hpp"
#include "runtime/train/checkpoint/checkpoint.hpp"
#include "tests/model/devices/offload_run.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using tests::DeviceRun;
using tests::offload_setup;
using tests::OffloadSetup;
using tests::Place;
using train::Precision;

namespace {

// Returns the bytes of a checkpoint's weights and moments, which rank 0 has written.
std::string tensors_of(const std::string& checkpoint) {
    const std::string weights = tests::read_text(checkpoint + "/model.safetensors");
    const std::string moments = tests::read_text(checkpoint + "/part-00000.safetensors");
    REQUIRE(!weights.empty());
    REQUIRE(!moments.empty());
    return weights + moments;
}

// Writes a checkpoint of the same step with other weights and moments.
void write_other_tensors(const OffloadSetup& setup, const std::string& from,
                         const std::string& to) {
    const auto model =
        model::make_cpu_model(tests::toy_config(model::Kind::gpt2), Precision::fp32, 1);
    comm::LocalCommunicator alone;
    Trace trace(Trace::Recording::off, 0);
    const auto engine = model->make_engine(setup.options, alone, trace, nullptr);
    const train::RunTensors tensors = engine->fetch();
    const train::RunRecord record = train::load_checkpoint(from, tensors);
    for (float& weight : tensors.master) weight += 0.5F;
    REQUIRE(tensors.optimizer.size() > 0);
    for (const train::OptimizerTensor& tensor : tensors.optimizer)
        for (float& moment : tensor.values) moment = 3 * moment + 0.125F;
    train::save_checkpoint(to, tensors, record);
}

// Runs until step 2 on the GPU, until step 4 with offload, and until step 6 on the GPU again. Rank
// 1 reads other tensors than rank 0, whose are to be used on all ranks. Returns rank 0's run.
DeviceRun run_in_parts(const OffloadSetup& whole, const tests::ScratchFolder& folder) {
    const std::string other = folder / "other";
    DeviceRun joined;
    std::string last;
    for (const auto& [until, place] :
         {std::pair{2, Place::gpu}, std::pair{4, Place::host}, std::pair{6, Place::gpu}}) {
        OffloadSetup part = whole;
        part.options.limits.max_train_steps = until;
        if (!last.empty()) write_other_tensors(whole, last, other);
        const std::string to = folder / std::to_string(until);
        const auto runs = run_offloaded(
            part, place, {{last, to}, {last.empty() ? "" : other, to + " of rank 1"}});
        joined.steps.insert(joined.steps.end(), runs[0].steps.begin(), runs[0].steps.end());
        joined.weights = runs[0].weights;
        last = to;
    }
    return joined;
}

}  // namespace

TEST_CASE("a checkpoint continues with offload and without, bit for bit") {
    for (const auto precision : {Precision::fp32, Precision::bf16}) {
        const tests::ScratchFolder folder;
        const OffloadSetup whole = offload_setup(1, 0, precision);
        OffloadSetup first = whole;
        first.options.limits.max_train_steps = 3;
        const std::string expected = folder / "expected", half = folder / "half",
                          end = folder / "end";
        const DeviceRun uninterrupted = run_offloaded(whole, Place::gpu, {{"", expected}})[0];
        for (const auto& [before, after] :
             {std::pair{Place::gpu, Place::host}, std::pair{Place::host, Place::gpu},
              std::pair{Place::host, Place::host}}) {
            (void)run_offloaded(first, before, {{"", half}});
            const DeviceRun continued = run_offloaded(whole, after, {{half, end}})[0];
            CHECK(continued.weights == uninterrupted.weights);
            CHECK(continued.steps.back().loss == uninterrupted.steps.back().loss);
            const bool same_tensors = tensors_of(end) == tensors_of(expected);
            CHECK(same_tensors);
        }
    }
}

TEST_CASE("ranks share the weights and moments that rank 0 reads, and continue in either place") {
    for (const int stage : {0, 1, 2, 3})
        for (const auto precision : {Precision::fp32, Precision::bf16}) {
            CAPTURE(stage);
            CAPTURE(train::name(precision));
            const tests::ScratchFolder folder;
            OffloadSetup whole = offload_setup(2, stage, precision);
            whole.options.limits.max_train_steps = 6;
            whole.options.validation.every_n_steps = -1;  // the parts would validate at their ends
            const std::string expected = folder / "expected";
            const DeviceRun uninterrupted = run_offloaded(
                whole, Place::gpu, {{"", expected}, {"", expected + " of rank 1"}})[0];
            check_same_run(uninterrupted, run_in_parts(whole, folder));
            const bool same_tensors = tensors_of(folder / "6") == tensors_of(expected);
            CHECK(same_tensors);
            if (stage > 0) continue;  // rank 1 has no whole tensors
            const bool same_on_rank_1 = tensors_of(folder / "6 of rank 1") == tensors_of(expected);
            CHECK(same_on_rank_1);
        }
}
