// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/step/dry_step.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/comm/threads/thread_world.hpp"
#include "runtime/device/cpu_context.hpp"
#include "runtime/train/optim/state_bytes.hpp"
#include "tests/runtime/train/step/dry_ranks.hpp"
#include "tests/support/noted_communicator.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using device::CpuTraits;
using device::CudaTraits;
using train::OptimizerKind;
using train::OptimizerOptions;
using train::Precision;

namespace {

std::vector<std::string> texts_of(const comm::Tape& tape) {
    std::vector<std::string> texts;
    for (const comm::TapeEntry& entry : tape.entries)
        texts.push_back(std::to_string(static_cast<int>(entry.call)) + " of " +
                        std::to_string(entry.bytes) + " bytes, \"" + entry.label + "\", among " +
                        std::to_string(entry.ranks) + " of group " +
                        std::to_string(static_cast<int>(entry.group)));
    return texts;
}

std::size_t bytes_kept_by(const OptimizerOptions& options, const train::ParameterTable& table) {
    device::CpuContext context(1);
    const train::ParameterStore<HostSpace> store(table, Precision::fp32);
    const auto optimizer =
        train::make_optimizer<device::CpuContext>(options, table, store, context);
    std::size_t bytes = 0;
    for (const auto& tensor : optimizer->state())
        bytes += tensor.values.size() * sizeof(float) + tensor.codes.size();
    return bytes;
}

}  // namespace

TEST_CASE("an optimizer keeps as many bytes as it is reckoned to") {
    const train::ParameterTable table = table_without_gaps();
    const std::size_t largest = 32 * 48;  // elements of a matrix
    Run run{.precision = Precision::fp32};
    for (const auto kind : {OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::adamw,
                            OptimizerKind::adafactor, OptimizerKind::lion, OptimizerKind::muon}) {
        const std::size_t scratch = kind == OptimizerKind::adafactor ? largest : 0;
        for (const double decay : {0.0, 0.9}) {
            OptimizerOptions& options = run.options.optimizer;
            options.kind = kind;
            options.momentum = options.beta1 = decay;
            options.amsgrad = decay > 0;
            const std::size_t kept = bytes_kept_by(options, table);
            CHECK(train::state_bytes(options, table) == kept);
            CHECK(dry<CpuTraits>(run).memory.optimizer == kept + scratch * sizeof(float));
        }
    }
    OptimizerOptions options;
    options.moments = train::Moments::int8;
    CHECK(train::state_bytes(options, table) == bytes_kept_by(options, table));
    CHECK(bytes_kept_by(options, table) == 2 * (table.flat_size() + table.flat_size() / 64));
}

TEST_CASE("the state of a model that is larger than any memory is reckoned without taking it") {
    train::ParameterTable huge;
    huge.add("matrix", {1 << 20, 1 << 20}, 0, train::WeightDecay::apply);
    huge.add("bias", {256}, 0, train::WeightDecay::skip);
    OptimizerOptions options;
    options.kind = OptimizerKind::adamw;
    options.weight_decay = 0.01;
    options.moments = train::Moments::int8;
    CHECK(train::state_bytes(options, huge) == 2 * (huge.flat_size() + huge.flat_size() / 64));
}

TEST_CASE("the memory of a dry rank is that of the buffers that there are") {
    const std::size_t weights = table_without_gaps().flat_size();
    Run run{.precision = Precision::fp32};
    train::TrainOptions& options = run.options;
    options.optimizer.kind = OptimizerKind::sgd;
    CHECK(dry<CpuTraits>(run).memory.total() == 8 * weights);
    run.precision = Precision::bf16;
    run.ranks = 2;
    options.reducer.comm_dtype = Dtype::bf16;
    const std::size_t padded = table_of(run).flat_size();
    const auto bf16 = dry<CpuTraits>(run).memory;
    CHECK(bf16.compute == 2 * padded);
    CHECK(bf16.narrowing == 2 * (padded - 512));  // all but the last block
    CHECK(bf16.total() == 10 * padded + bf16.narrowing);
    options.reducer.first_bucket_bytes = options.reducer.bucket_bytes = 16 * sizeof(float);
    const auto small = dry<CpuTraits>(run).memory;
    CHECK(small.narrowing == 2 * 512);  // a bucket is at least a grain of each rank
    CHECK(small.tied_rows == 0);
    const auto on_gpu = dry<CudaTraits>(run).memory;
    CHECK(on_gpu.tied_rows >= 4 * 128 + 4 * 256 * 4);  // half of the column, and slots
    CHECK(on_gpu.total() == small.total() + on_gpu.tied_rows);
    Run alone{.precision = Precision::fp16, .master = train::Master::none};
    alone.options.optimizer = options.optimizer;
    const auto lean = dry<CudaTraits>(alone).memory;
    CHECK(lean.master == 0);
    CHECK(lean.total() == 6 * weights);
}

TEST_CASE("the lanes that wait are those of the rank that keeps the most") {
    Run run{.precision = Precision::fp32};
    run.options.reducer.lane_order = train::LaneOrder::fixed;
    run.options.lanes = 8;  // lanes 0 to 3, 4 and 5, and 6 wait for lane 7
    const std::size_t weights = table_without_gaps().flat_size();
    CHECK(dry<CpuTraits>(run).memory.lane_sums == 3 * 4 * weights);
    run.ranks = 2;
    const std::size_t padded = table_of(run).flat_size();
    const auto ranks = dry<CpuTraits>(run, train::rank_with_most_kept(8, 2)).memory;
    CHECK(ranks.lane_sums > 2 * 4 * padded);
    CHECK(ranks.lane_sums <= 3 * 4 * padded + 64);
    CHECK_THROWS_WITH_AS(dry<CudaTraits>(run), doctest::Contains("only CPUs"), Error);
    run.ranks = 4;
    for (const std::int64_t lanes : {7, 12, 13}) {
        CAPTURE(lanes);
        run.options.lanes = lanes;
        std::vector<std::size_t> kept;
        for (int rank = 0; rank < run.ranks; ++rank)
            kept.push_back(dry<CpuTraits>(run, rank).memory.lane_sums);
        const auto most = static_cast<std::size_t>(train::rank_with_most_kept(lanes, run.ranks));
        CHECK(kept[most] == *std::ranges::max_element(kept));
        if (lanes == 13) CHECK(*std::ranges::min_element(kept) < kept[most]);
    }
}

TEST_CASE(
    "an offloaded optimizer leaves 6 of 18 bytes a parameter, and pins the rest and 2 chunks") {
    const std::size_t elements = 2816;
    REQUIRE(table_without_gaps().flat_size() == elements);
    Run run{.master = train::Master::offloaded};
    OptimizerOptions& options = run.options.optimizer;
    options.kind = OptimizerKind::adamw;
    options.weight_decay = 0.01;
    options.offload = train::Offload::optimizer;
    const auto memory = [&](Precision precision) {
        run.precision = precision;
        return dry<CudaTraits>(run).memory;
    };
    CHECK(memory(Precision::bf16).total() == 6 * elements);
    CHECK(memory(Precision::bf16).pinned == 12 * elements + 2 * 6 * elements);
    CHECK(memory(Precision::fp32).total() == 8 * elements);
    CHECK(memory(Precision::fp32).pinned == 12 * elements + 2 * 4 * elements);
    options.offload_bytes = 4 * 512;
    CHECK(memory(Precision::bf16).pinned == 12 * elements + 2 * 6 * 512);
    options.kind = OptimizerKind::lion;
    CHECK(memory(Precision::fp16).pinned == 8 * elements + 2 * 6 * 512);
    run.ranks = 2;
    run.options.zero = zero(1);
    run.options.reducer.overlap = train::Overlap::off;  // no rows of a tied table
    REQUIRE(table_of(run).flat_size() == 3072);
    CHECK(memory(Precision::bf16).pinned == 8 * 3072 / 2 + 2 * 6 * 512);
    CHECK(memory(Precision::bf16).total() == 6 * 3072);
    CHECK_THROWS_WITH_AS(dry<CpuTraits>(run), doctest::Contains("is for GPUs"), Error);
}

TEST_CASE("a state on disk leaves 6 of 18 bytes a parameter, and three chunks") {
    const std::size_t elements = 2816, column = 12288;  // bytes of a column in blocks of 4,096
    REQUIRE(table_without_gaps().flat_size() == elements);
    Run run{.master = train::Master::stored};
    OptimizerOptions& options = run.options.optimizer;
    options.kind = OptimizerKind::adamw;
    options.weight_decay = 0.01;
    options.offload = train::Offload::optimizer;
    options.offload_dir = "any";
    const std::size_t lines = 4 * 6;  // of weight decay
    const auto memory = dry<CpuTraits>(run).memory;
    CHECK(memory.master == 0);
    CHECK(memory.disk == 3 * column);
    CHECK(memory.optimizer == 3 * column + lines);  // one chunk
    CHECK(memory.total() == 6 * elements + memory.optimizer);
    CHECK(memory.pinned == 0);
    run.precision = Precision::fp32;
    CHECK(dry<CpuTraits>(run).memory.disk == 2 * column);
    CHECK(dry<CpuTraits>(run).memory.master == 4 * elements);
    options.offload_bytes = 512;  // a block
    CHECK(dry<CpuTraits>(run).memory.optimizer == 2 * 3 * 4096 + lines);
    run.ranks = 2;
    run.options.zero = zero(3);
    REQUIRE(table_of(run).flat_size() == 3072);
    CHECK(dry<CpuTraits>(run).memory.disk == 2 * 8192);
    CHECK(dry<CpuTraits>(run).memory.master == 4 * 3072 / 2);  // slots are filled from it
}

TEST_CASE("a dry rank calls what a real one calls, and holds what it holds") {
    struct Case {
        int ranks, sharing, stage;
        std::int64_t lanes;
        train::LaneOrder order = train::LaneOrder::any;
        Dtype travel = Dtype::fp32;
        train::Overlap overlap = train::Overlap::on;
    };
    const auto fixed = train::LaneOrder::fixed;
    for (const Case& one : {Case{2, 1, 0, 2},
                            {3, 1, 0, 7},
                            {4, 1, 0, 6, fixed},
                            {2, 2, 1, 2},
                            {4, 2, 1, 4},
                            {4, 4, 1, 12, fixed},
                            {3, 3, 2, 7},
                            {4, 2, 2, 9},
                            {2, 2, 3, 2},
                            {4, 2, 3, 8},
                            {7, 7, 3, 15},
                            {4, 4, 2, 4, {}, Dtype::bf16},
                            {4, 2, 1, 4, {}, Dtype::bf16},
                            {2, 2, 1, 2, {}, {}, train::Overlap::off},
                            {3, 3, 3, 3, {}, Dtype::fp32, train::Overlap::off}}) {
        CAPTURE(one.ranks);
        CAPTURE(one.stage);
        CAPTURE(one.lanes);
        Run run{.ranks = one.ranks};
        run.options.zero = zero(one.stage, one.sharing);
        run.options.lanes = one.lanes;
        run.options.reducer.first_bucket_bytes = run.options.reducer.bucket_bytes = 4096;
        run.options.reducer.lane_order = one.order;
        run.options.reducer.comm_dtype = one.travel == Dtype::bf16 ? Dtype::bf16 : Dtype::fp32;
        run.options.reducer.overlap = one.overlap;
        comm::run_as_threads(one.ranks, [&](comm::Communicator& communicator) {
            const int rank = communicator.rank();
            comm::Tape tape;
            tests::NotedCommunicator noted(communicator, tape, comm::TapedGroup::world);
            device::CpuContext context(1);
            Trace trace(Trace::Recording::off, rank);
            const auto store = store_of<HostSpace>(run, rank);
            Blocks<HostSpace> model(store);
            train::DeviceEngine<device::CpuContext> engine(
                run.options, {context, noted, noted, trace, model, store});
            engine.restore({}, one.lanes);
            const train::LaneRange lanes = train::lanes_of_rank(one.lanes, rank, one.ranks);
            const std::vector<train::Batch> batches(static_cast<std::size_t>(lanes.count()),
                                                    one_row());
            for (int step = 0; step < 2; ++step) {
                tape.entries.clear();
                engine.queue({}, batches);
                (void)engine.take_result();
            }
            const train::DryStep step = dry<CpuTraits>(run, rank);
            CHECK(texts_of(step.tape) == texts_of(tape));
            const train::WeightMemory held = engine.memory();
            CHECK(step.memory.total() == held.total());
            CHECK(held.master == store.master().size() * sizeof(float));
            CHECK(held.gradient ==
                  (store.gradient().size() + store.gradient_sums().size()) * sizeof(float));
            CHECK(held.compute == store.compute<bf16>().size() * sizeof(bf16));
            CHECK(held.narrowing == step.memory.narrowing);
            CHECK(held.lane_sums == step.memory.lane_sums);
        });
    }
}

TEST_CASE("without overlap a step waits before it computes on, with overlap behind it") {
    const auto waits_of = [](const comm::Tape& tape) {
        return std::ranges::count(tape.entries, comm::TapedCall::wait, &comm::TapeEntry::call);
    };
    Run run = sharing(3, 4);
    run.options.reducer.first_bucket_bytes = run.options.reducer.bucket_bytes = 4096;
    const comm::Tape hidden = dry<CpuTraits>(run).tape;
    run.options.reducer.overlap = train::Overlap::off;
    const comm::Tape serial = dry<CpuTraits>(run).tape;
    const auto first_wait = [](const comm::Tape& tape) {
        return std::ranges::find(tape.entries, comm::TapedCall::wait, &comm::TapeEntry::call) -
               tape.entries.begin();
    };
    CHECK(first_wait(serial) == 1);  // for the weights that were asked for
    CHECK(waits_of(serial) >= waits_of(hidden));
    // Nothing is left on its way at the end of a step without overlap.
    CHECK(serial.entries.back().call == comm::TapedCall::wait);
    CHECK(hidden.entries.back().call == comm::TapedCall::all_gather);
}
