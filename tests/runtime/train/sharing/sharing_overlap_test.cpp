// SPDX-License-Identifier: Apache-2.0
// Ranks that share what they keep hide what they send behind computing, as far as the order of the
// layers allows. Layers and network only sleep, so that the shares depend on nothing else.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "runtime/comm/threads/thread_world.hpp"
#include "runtime/train/step/device_engine_inl.hpp"
#include "tests/runtime/train/toy_source.hpp"
#include "tests/support/slow_communicator.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using namespace std::chrono_literals;

namespace {

constexpr int layers = 8;
constexpr std::size_t layer_elements = 65536;
constexpr auto forward_time = 6ms, backward_time = 12ms;  // of a layer
// A step sends two thirds of the time in which it computes.
constexpr auto sending_time = layers * (forward_time + backward_time) * 2 / 3;

// Eight equal layers, of which each takes its time.
class Layers final : public train::ForwardBackward {
public:
    static train::ParameterTable make_table() {
        train::ParameterTable table;
        for (int layer = 0; layer < layers; ++layer)
            table.add("layer." + std::to_string(layer), {static_cast<std::int64_t>(layer_elements)},
                      layer, train::WeightDecay::skip);
        return table;
    }
    Layers(const train::ParameterStore<HostSpace>& store) : store_(store) {}

    const train::ParameterTable& parameters() const noexcept override { return store_.table(); }
    void reserve(std::size_t) override {}
    train::UploadedShape upload(const train::Batch&) override { return {}; }
    void train(const kernels::StepState*, kernels::LossSums* sums, kernels::Into,
               train::GradientSink& sink) override {
        const auto& all = store_.table().all();
        for (auto layer = all.rbegin(); layer != all.rend(); ++layer) {
            sink.need(layer->offset);
            std::this_thread::sleep_for(forward_time);
        }
        sink.begin_backward();
        for (const train::Parameter& layer : all) {
            sink.need(layer.offset);
            std::ranges::fill(store_.gradient(layer.offset, layer.count), 1e-3F);
            std::this_thread::sleep_for(backward_time);
            sink.ready(layer.offset, layer.count);
        }
        *sums += {1, 1, 1, 0};
    }
    void evaluate(const train::Batch&, kernels::LossSums*, train::WeightSource&) override {}
    train::ModelSpans take_spans() override { return {}; }
    std::size_t peak_activation_bytes() const noexcept override { return 0; }

private:
    const train::ParameterStore<HostSpace>& store_;
};

// Returns the timing of a step of the first of two ranks, in which the gathers of the step before
// are hidden, too.
train::ReductionTiming step_at(int stage, train::Overlap overlap) {
    train::TrainOptions options;
    options.reducer.bucket_bytes = options.reducer.first_bucket_bytes =
        layer_elements * sizeof(float);
    options.reducer.overlap = overlap;
    // Stage 1 sums and gathers each layer once, stage 3 gathers for backward again.
    const double bytes = layers * layer_elements * sizeof(float) * (stage == 1 ? 2 : 3);
    const Slowness slowness{
        0ns, static_cast<double>(std::chrono::nanoseconds(sending_time).count()) / bytes};
    train::ReductionTiming timed;
    comm::ThreadWorld slow(2);
    comm::run_as_threads(2, [&](comm::Communicator& communicator) {
        const int rank = communicator.rank();
        const auto joined = slow_join(slow, rank, slowness);
        device::CpuContext context(1);
        Trace trace(Trace::Recording::off, rank);
        auto table = Layers::make_table();
        table.pad_for(2);
        table.share_among(2, stage);
        const train::ParameterStore<HostSpace> store(
            table, train::Precision::fp32, train::Master::kept,
            train::owned_parts(table, options.reducer, rank),
            train::plan_segments(table, options.reducer));
        Layers model(store);
        train::DeviceEngine<device::CpuContext> engine(
            options, {context, *joined, *joined, trace, model, store});
        engine.share_weights();
        engine.restore({}, 2);
        for (std::uint64_t step = 0; step < 3; ++step) {
            kernels::StepOrder order;
            order.step = order.first_update = step;
            engine.queue(order, {ToySource::batch_of({1})});
            const auto result = engine.take_result();
            if (rank == 0) timed = result.reduction;
        }
    });
    return timed;
}

// Returns the first of several steps that is `as_wanted`, or the last: a busy machine may delay a
// thread. Without overlap no step comes near what is wanted with it, nor the other way round.
template <class Wanted>
train::ReductionTiming step_at(int stage, train::Overlap overlap, Wanted as_wanted) {
    train::ReductionTiming timed = step_at(stage, overlap);
    for (int more = 0; more < 9 && !as_wanted(timed); ++more) timed = step_at(stage, overlap);
    return timed;
}

}  // namespace

TEST_CASE("slow gathers and sums hide behind layers, and without overlap they do not") {
    for (const int stage : {1, 3}) {
        CAPTURE(stage);
        const auto share = [](const train::ReductionTiming& timed) {
            return *timed.hidden_share();
        };
        const auto weights_share = [](const train::ReductionTiming& timed) {
            return timed.weights.hidden_share().value();
        };
        const train::ReductionTiming overlapped =
            step_at(stage, train::Overlap::on, [&](const train::ReductionTiming& timed) {
                return share(timed) >= 0.5 && weights_share(timed) >= 0.4;
            });
        CHECK(share(overlapped) >= 0.5);
        CHECK(weights_share(overlapped) >= 0.4);
        CHECK(overlapped.bucket_s >= std::chrono::duration<double>(sending_time).count() * 0.85);
        const train::ReductionTiming serial =
            step_at(stage, train::Overlap::off, [&](const train::ReductionTiming& timed) {
                return share(timed) <= 0.05 && weights_share(timed) <= 0.05;
            });
        CHECK(share(serial) <= 0.05);
        CHECK(weights_share(serial) <= 0.05);
    }
}
