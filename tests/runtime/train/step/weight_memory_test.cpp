// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/step/weight_memory.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "runtime/comm/queue/local_communicator.hpp"
#include "runtime/device/cpu_context.hpp"
#include "runtime/train/optim/optimizer_inl.hpp"
#include "runtime/train/step/buckets.hpp"
#include "runtime/train/step/lane_exchange.hpp"
#include "runtime/train/step/step_traffic.hpp"

using namespace lockstep;
using train::OptimizerKind;
using train::OptimizerOptions;
using train::Precision;

namespace {

// All sizes are multiples of 256, so that the flat buffers have no gaps.
train::ParameterTable table_without_gaps() {
    train::ParameterTable table;
    table.add("matrix", {32, 48}, 0, train::WeightDecay::apply);
    table.add("bias", {256}, 0, train::WeightDecay::skip);
    table.add("qkv", {48, 16}, 0, train::WeightDecay::apply, 3);
    table.add("column", {256, 1}, 1, train::WeightDecay::apply);
    return table;
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

// Counts the bytes that one of four ranks sends, to nobody.
class Counted final : public comm::LocalCommunicator {
public:
    explicit Counted(int rank) : rank_(rank) {}
    int rank() const noexcept override { return rank_; }
    int size() const noexcept override { return 4; }
    comm::Ticket send(comm::HostRange range, int, std::string) override {
        bytes += static_cast<std::int64_t>(range.bytes());
        return {};
    }
    comm::Ticket recv(comm::HostRange, int, std::string) override { return {}; }
    comm::Ticket run(std::function<void()>, std::string) override { return {}; }

    std::int64_t bytes = 0;

private:
    int rank_;
};

std::int64_t bytes_of_lane_exchange(int rank, std::int64_t lanes, std::size_t elements) {
    Counted communicator(rank);
    std::vector<float> gradient(elements);
    const auto branches = train::branches_of(train::lanes_of_rank(lanes, rank, 4), lanes);
    train::LaneExchange(communicator, lanes, elements)
        .queue(std::vector(branches.size(), view_of(gradient)), view_of(gradient), "gradient");
    return communicator.bytes;
}

}  // namespace

TEST_CASE("an optimizer keeps as many bytes as it is reckoned to") {
    const train::ParameterTable table = table_without_gaps();
    const std::size_t largest = 32 * 48;  // adafactor's scratch
    for (const auto kind : {OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::adamw,
                            OptimizerKind::adafactor, OptimizerKind::lion}) {
        const std::size_t scratch = kind == OptimizerKind::adafactor ? largest : 0;
        for (const double decay : {0.0, 0.9}) {
            OptimizerOptions options;
            options.kind = kind;
            options.momentum = options.beta1 = decay;
            options.amsgrad = decay > 0;
            CHECK(train::optimizer_bytes(options, table) ==
                  bytes_kept_by(options, table) + scratch * sizeof(float));
        }
    }
    OptimizerOptions options;
    options.moments = train::Moments::int8;
    CHECK(train::optimizer_bytes(options, table) == bytes_kept_by(options, table));
    CHECK(bytes_kept_by(options, table) == 2 * (table.flat_size() + table.flat_size() / 64));
}

TEST_CASE("the weights' memory is that of the buffers that there are") {
    const train::ParameterTable table = table_without_gaps();
    const std::size_t weights = table.flat_size();
    train::TrainOptions options;
    options.optimizer.kind = OptimizerKind::sgd;
    const auto fp32 = train::weight_memory(table, Precision::fp32, train::Master::kept, options, 2);
    CHECK(fp32.total() == 8 * weights);
    options.reducer.comm_dtype = Dtype::bf16;
    const auto bf16 = train::weight_memory(table, Precision::bf16, train::Master::kept, options, 2);
    CHECK(bf16.compute == 2 * weights);
    CHECK(bf16.exchanged == 2 * (weights - 256));  // all but the last block
    CHECK(bf16.total() == 10 * weights + bf16.exchanged);
    options.reducer.first_bucket_bytes = options.reducer.bucket_bytes = 16 * sizeof(float);
    const auto small =
        train::weight_memory(table, Precision::bf16, train::Master::kept, options, 2);
    CHECK(small.exchanged == 2 * 16);
    options.reducer.table_sum = train::TableSum::in_parts;
    const auto parts =
        train::weight_memory(table, Precision::fp16, train::Master::kept, options, 2);
    CHECK(parts.exchanged == 2 * 256);                // the last block, which is sent first
    CHECK(parts.tied_rows >= 4 * 128 + 4 * 256 * 4);  // half of the column, and slots
    CHECK(parts.total() == small.total() - small.exchanged + parts.exchanged + parts.tied_rows);
    const auto lean = train::weight_memory(table, Precision::fp16, train::Master::none, options, 1);
    CHECK(lean.master == 0);
    CHECK(lean.total() == 6 * weights);
    options = {};
    options.reducer.lane_order = train::LaneOrder::fixed;
    options.lanes = 8;  // lanes 0 to 3, 4 and 5, and 6 wait for lane 7
    const auto fixed =
        train::weight_memory(table, Precision::fp32, train::Master::kept, options, 1);
    CHECK(fixed.lane_sums == 3 * 4 * weights);
    const auto ranks =
        train::weight_memory(table, Precision::fp32, train::Master::kept, options, 2);
    CHECK(ranks.lane_sums > 2 * 4 * weights);
    CHECK(ranks.lane_sums <= 3 * 4 * weights + 64);
}

TEST_CASE("the memory of a shared replica is that of the buffers that a rank has") {
    for (const int sharing : {2, 3, 7})
        for (const int stage : {1, 2, 3})
            for (const auto precision : {Precision::fp32, Precision::bf16})
                for (const auto moments : {train::Moments::fp32, train::Moments::int8}) {
                    CAPTURE(sharing);
                    CAPTURE(stage);
                    train::ParameterTable table = table_without_gaps();
                    table.pad_for(sharing);
                    table.share_among(sharing, stage);
                    train::TrainOptions options;
                    options.optimizer.moments = moments;
                    options.reducer.first_bucket_bytes = options.reducer.bucket_bytes = 4096;
                    const train::ParameterStore<HostSpace> store(
                        table, precision, train::Master::kept,
                        train::owned_parts(table, options.reducer, sharing - 1),
                        train::plan_segments(table, options.reducer));
                    device::CpuContext context(1);
                    const auto optimizer = train::make_optimizer<device::CpuContext>(
                        options.optimizer, table, store, context);
                    std::size_t state = 0;
                    for (const auto& flat : optimizer->flat_state())
                        state += flat.values.size() * sizeof(float) + flat.codes.size();
                    CHECK(optimizer->state().empty());
                    const auto memory = train::weight_memory(table, precision, train::Master::kept,
                                                             options, 2 * sharing);
                    CHECK(memory.master == store.master().size() * sizeof(float));
                    CHECK(memory.gradient ==
                          (store.gradient().size() + store.gradient_sums().size()) * sizeof(float));
                    const bool fp32 = precision == Precision::fp32;
                    const std::size_t compute = fp32 ? store.compute<float>().size() * sizeof(float)
                                                     : store.compute<bf16>().size() * sizeof(bf16);
                    CHECK(memory.compute == (fp32 && stage < 3 ? 0 : compute));
                    CHECK(memory.optimizer == state);
                }
}

TEST_CASE("a shared replica in 16 bits sends three quarters of what whole ones send") {
    train::ParameterTable whole = table_without_gaps(), shared = table_without_gaps();
    const auto elements = static_cast<std::int64_t>(whole.flat_size());
    CHECK(train::bytes_sent_in_step(whole, Precision::bf16, {}, {1, 1}) == 0);
    CHECK(train::bytes_sent_in_step(whole, Precision::bf16, {}, {4, 4}) == 6 * elements);
    shared.pad_for(4);
    shared.share_among(4);
    const auto padded = static_cast<std::int64_t>(shared.flat_size());
    CHECK(train::bytes_sent_in_step(shared, Precision::bf16, {}, {4, 4}) * 4 == 18 * padded);
    CHECK(train::bytes_sent_in_step(shared, Precision::fp32, {}, {4, 4}) == 6 * padded);
    // Each rank also sends its quarter twice between the two replicas, half of it each time.
    CHECK(train::bytes_sent_in_step(shared, Precision::bf16, {}, {8, 8}) * 4 == 22 * padded);
    train::ReducerOptions narrow;
    narrow.comm_dtype = Dtype::bf16;
    CHECK(train::bytes_sent_in_step(shared, Precision::bf16, narrow, {4, 4}) == 3 * padded);
    // Each further lane of a rank costs another sum.
    shared.share_among(4, 2);
    CHECK(train::bytes_sent_in_step(shared, Precision::bf16, {}, {4, 4}) * 4 == 18 * padded);
    CHECK(train::bytes_sent_in_step(shared, Precision::bf16, {}, {4, 12}) * 4 == 42 * padded);
}

TEST_CASE("what is sent is told for each group") {
    train::ParameterTable table = table_without_gaps();
    table.pad_for(8);
    const auto elements = static_cast<std::int64_t>(table.flat_size());
    const train::StepTraffic whole = train::step_traffic(table, Precision::bf16, {}, {8, 8});
    CHECK(whole.weights == 0);
    CHECK(whole.gradients == 0);
    CHECK(whole.replicas == 7 * elements);
    table.share_among(4);
    const train::StepTraffic two = train::step_traffic(table, Precision::bf16, {}, {8, 8});
    CHECK(two.weights * 4 == 3 * 2 * elements);
    CHECK(two.gradients * 4 == 3 * 4 * elements);
    CHECK(two.replicas * 4 == 4 * elements);
    CHECK(train::step_traffic(table, Precision::bf16, {}, {4, 4}).replicas == 0);
    train::ReducerOptions fixed;
    fixed.lane_order = train::LaneOrder::fixed;
    CHECK(train::step_traffic(table, Precision::bf16, fixed, {4, 4}).replicas == 0);
    CHECK(train::step_traffic(table, Precision::bf16, fixed, {8, 8}).gradients == 0);
}

TEST_CASE("lanes in a fixed order send whole gradients, those of every branch and their sum") {
    train::ParameterTable table = table_without_gaps();
    table.pad_for(4);
    const auto gradient = 4 * static_cast<std::int64_t>(table.flat_size());
    train::ReducerOptions fixed;
    fixed.lane_order = train::LaneOrder::fixed;
    const auto sent = [&](std::int64_t lanes) {
        return train::bytes_sent_in_step(table, Precision::bf16, fixed, {4, lanes});
    };
    CHECK(sent(4) * 4 == 2 * 3 * gradient);
    CHECK(sent(8) * 4 == 2 * 3 * gradient);  // a rank adds its two lanes
    CHECK(sent(7) * 4 == 2 * 3 * gradient);
    CHECK(sent(12) * 4 == 3 * 3 * gradient);  // three lanes are two branches
    for (const std::int64_t lanes : {4, 7, 8, 12, 13}) {
        CAPTURE(lanes);
        std::int64_t most = 0;
        for (int rank = 0; rank < 4; ++rank)
            most = std::max(most, bytes_of_lane_exchange(rank, lanes, table.flat_size()));
        CHECK(sent(lanes) == most);
    }
    const std::int64_t whole = sent(12);
    table.share_among(4);
    CHECK(sent(12) * 4 == whole * 4 + 3 * gradient / 2);  // and the weights in 16 bits
}

TEST_CASE("ranks without half sums send whole ones") {
    train::ParameterTable table = table_without_gaps();
    table.pad_for(4);
    const auto elements = static_cast<std::int64_t>(table.flat_size());
    const auto sent = [&](std::int64_t lanes) {
        return train::bytes_sent_in_step(table, Precision::bf16, {},
                                         {4, lanes, train::HalfSums::as_whole_ones});
    };
    CHECK(sent(4) == 6 * elements);
    table.share_among(4, 1);
    CHECK(sent(4) * 4 == 3 * 10 * elements);
    table.share_among(4, 2);
    CHECK(sent(12) * 4 == 3 * 26 * elements);
}
