// SPDX-License-Identifier: Apache-2.0
// Ranks that share what they keep hide what they send behind computing, as far as the order of the
// layers allows. Layers and transport wait for each other, so that nothing depends on the speed of
// the machine.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>

#include "runtime/comm/threads/thread_world.hpp"
#include "runtime/train/step/device_engine_inl.hpp"
#include "tests/runtime/train/toy_source.hpp"
#include "tests/support/meeting_communicator.hpp"

using namespace lockstep;
using namespace lockstep::tests;

namespace {

constexpr int layers = 8, queued_steps = 3;
constexpr std::size_t layer_elements = 65536;

// Eight equal layers, of which each tells that it calculates.
class Layers final : public train::ForwardBackward {
public:
    static train::ParameterTable make_table() {
        train::ParameterTable table;
        for (int layer = 0; layer < layers; ++layer)
            table.add("layer." + std::to_string(layer), {static_cast<std::int64_t>(layer_elements)},
                      layer, train::WeightDecay::skip);
        return table;
    }
    Layers(const train::ParameterStore<HostSpace>& store, Happenings& happenings,
           train::Overlap overlap)
        : store_(store), happenings_(happenings), overlap_(overlap) {}

    const train::ParameterTable& parameters() const noexcept override { return store_.table(); }
    void reserve(std::size_t) override {}
    train::UploadedShape upload(const train::Batch&) override { return {}; }
    void train(const kernels::StepState*, kernels::LossSums* sums, kernels::Into,
               train::GradientSink& sink) override {
        const auto& all = store_.table().all();
        for (auto layer = all.rbegin(); layer != all.rend(); ++layer) {
            sink.need(layer->offset);
            happenings_.add("forward");
            look();
        }
        sink.begin_backward();
        for (const train::Parameter& layer : all) {
            sink.need(layer.offset);
            const int before = happenings_.add("backward") - 1;
            look();
            // The sum of the layer before has begun, and goes on when this one has.
            if (overlap_ == train::Overlap::on && before % layers > 0)
                happenings_.wait("reduce_scatter", before);
            std::ranges::fill(store_.gradient(layer.offset, layer.count), 1e-3F);
            sink.ready(layer.offset, layer.count);
        }
        *sums += {1, 1, 1, 0};
    }
    void evaluate(const train::Batch&, kernels::LossSums*, train::WeightSource&) override {}
    train::ModelSpans take_spans() override { return {}; }
    std::size_t peak_activation_bytes() const noexcept override { return 0; }

    // Layers that began while an operation of the ranks was on its way.
    int beside = 0;

private:
    void look() {
        const int begun = happenings_.count("reduce_scatter") + happenings_.count("all_gather");
        if (begun > happenings_.count("done")) ++beside;
    }

    const train::ParameterStore<HostSpace>& store_;
    Happenings& happenings_;
    const train::Overlap overlap_;
};

// Says which layer must calculate before an operation may go on, if communication is hidden.
class Gates {
public:
    Gates(Happenings& happenings, int stage) : happenings_(happenings), stage_(stage) {}

    // Operations before the first step pass freely and do not count.
    void close() { closed_ = true; }
    void pass(const std::string& operation) {
        if (!closed_) return;
        const int number = happenings_.add(operation) - 1;
        if (operation == "reduce_scatter") {
            // That of the last layer has nothing to hide behind.
            if (number % layers + 1 < layers) happenings_.wait("backward", number + 2);
        } else if (operation == "all_gather") {
            pass_gather(number);
        }
    }

private:
    // Weights of a layer arrive while the layer before it calculates. At stage 1 they are gathered
    // after the update. At stage 3 they are gathered when they are needed, and those of the third
    // to the seventh layer again for backward, because the slots keep the first two and the last.
    // Those of two layers are asked for early, the first time before the first step.
    void pass_gather(int number) {
        const int in_step = stage_ == 1 ? layers : layers + 5;
        const int counted = stage_ == 1 ? number + in_step : number + 2;
        const int step = counted / in_step, place = counted % in_step;
        if (step >= queued_steps || place == 0) return;
        if (place < layers) return happenings_.wait("forward", step * layers + place);
        happenings_.wait("backward", step * layers + place - layers + 2);
    }

    Happenings& happenings_;
    const int stage_;
    std::atomic<bool> closed_ = false;
};

struct Seen {
    std::string missed;  // what a rank waited for in vain
    int beside = 0;      // Layers::beside
};

// Runs steps of two ranks.
Seen run_steps(int stage, train::Overlap overlap) {
    train::TrainOptions options;
    options.reducer.bucket_bytes = options.reducer.first_bucket_bytes =
        layer_elements * sizeof(float);
    options.reducer.overlap = overlap;
    Seen seen[2];
    comm::ThreadWorld world(2);
    comm::run_as_threads(2, [&](comm::Communicator& communicator) {
        const int rank = communicator.rank();
        Happenings happenings;
        Gates gates(happenings, stage);
        const auto joined = meeting_join(
            world, rank,
            [&](const char* operation) {
                if (overlap == train::Overlap::on)
                    gates.pass(operation);
                else
                    happenings.add(operation);
            },
            [&](const char* operation) {
                if (std::string(operation) != "all_reduce") happenings.add("done");
            });
        device::CpuContext context(1);
        Trace trace(Trace::Recording::off, rank);
        auto table = Layers::make_table();
        table.pad_for(2);
        table.share_among(2, stage);
        const train::ParameterStore<HostSpace> store(
            table, train::Precision::fp32, train::Master::kept,
            train::owned_parts(table, options.reducer, rank),
            train::plan_segments(table, options.reducer));
        Layers model(store, happenings, overlap);
        {
            train::DeviceEngine<device::CpuContext> engine(
                options, {context, *joined, *joined, trace, model, store});
            engine.share_weights();
            engine.restore({}, 2);
            joined->finish();
            gates.close();
            for (std::uint64_t step = 0; step < queued_steps; ++step) {
                kernels::StepOrder order;
                order.step = order.first_update = step;
                engine.queue(order, {ToySource::batch_of({1})});
                (void)engine.take_result();
            }
            happenings.open();
        }
        seen[rank] = {happenings.missed(), model.beside};
    });
    return {seen[0].missed + seen[1].missed, std::min(seen[0].beside, seen[1].beside)};
}

}  // namespace

TEST_CASE("gathers and sums run beside layers, and without overlap they do not") {
    for (const int stage : {1, 3}) {
        CAPTURE(stage);
        CHECK(run_steps(stage, train::Overlap::on).missed == "");
        CHECK(run_steps(stage, train::Overlap::off).beside == 0);
    }
}
