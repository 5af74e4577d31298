// SPDX-License-Identifier: Apache-2.0
// Ranks that have the layers of a model one after the other must train as one rank does, but for
// the order of sums.
#include <array>
#include <deque>

#include "model/devices/dry_model.hpp"
#include "model/pipeline_division.hpp"
#include "runtime/train/reduction/step_traffic.hpp"
#include "runtime/train/step/stage_turns.hpp"
#include "tests/model/batch_parts.hpp"
#include "tests/model/divided_run.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::tests;

namespace {

model::ModelConfig with_layers(model::ModelConfig config, std::int64_t layers) {
    config.decoder_layers = layers;
    return config;
}

std::vector<model::ModelConfig> decoders() {
    model::ModelConfig tied = with_dropout(grouped(model::Kind::qwen3, 1));
    tied.parts.own_head = model::Has::no;
    return {with_layers(with_dropout(of_kind(model::Kind::gpt2)), 4),
            with_layers(grouped(model::Kind::llama, 2), 3), with_layers(tied, 5)};
}

Setup in_stages(Setup setup, int stages, int data, int zero = 0) {
    setup.options.pipeline = stages;
    setup.options.zero.stage = zero;
    setup.data = data;
    return setup;
}

Setup of_lanes(Setup setup, std::int64_t lanes) {
    setup.options.lanes = lanes;
    return setup;
}

void check_same(const Run& one, const Run& staged, double tolerance) {
    CHECK(difference(one, staged) < tolerance);
    for (std::size_t i = 0; i < one.steps.size(); ++i) {
        CHECK(staged.steps[i].rows == one.steps[i].rows);
        CHECK(staged.steps[i].tokens == one.steps[i].tokens);
        CHECK(staged.steps[i].epoch == one.steps[i].epoch);
        CHECK(staged.steps[i].gnorm == doctest::Approx(one.steps[i].gnorm).epsilon(1e-3));
    }
}

// An exchange of a stage: to whom the result of a turn goes, and from whom the next turn's rows
// come.
struct Exchange {
    std::optional<std::pair<int, train::StageTurn>> sent, received;

    bool done() const { return !sent && !received; }
};

std::deque<Exchange> exchanges_of(const train::PipelineStage& stage, std::int64_t micro_batches) {
    std::deque<Exchange> all(1);
    for (const train::StageTurn& turn : train::turns_of(stage, micro_batches)) {
        if (const int from = sender_for(stage, turn); from >= 0)
            all.back().received = std::pair(from, turn);
        all.emplace_back();
        if (const int to = receiver_of(stage, turn); to >= 0) all.back().sent = std::pair(to, turn);
    }
    std::erase_if(all, [](const Exchange& one) { return one.done(); });
    return all;
}

// Lets a message pass where both ranks have come to it. Returns the exchanges that wait for ever.
std::size_t left_waiting(std::vector<std::deque<Exchange>> stages) {
    for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t i = 0; i < stages.size(); ++i) {
            if (stages[i].empty() || !stages[i].front().sent) continue;
            const auto [to, turn] = *stages[i].front().sent;
            auto& other = stages.at(static_cast<std::size_t>(to));
            if (other.empty() || !other.front().received) continue;
            if (*other.front().received != std::pair(static_cast<int>(i), turn)) continue;
            stages[i].front().sent.reset();
            other.front().received.reset();
            if (stages[i].front().done()) stages[i].pop_front();
            if (!other.empty() && other.front().done()) other.pop_front();
            moved = true;
        }
    }
    std::size_t left = 0;
    for (const auto& stage : stages) left += stage.size();
    return left;
}

}  // namespace

TEST_CASE("stages never wait for each other for ever") {
    for (int stages = 2; stages <= 8; ++stages)
        for (std::int64_t micro_batches = 0; micro_batches <= 12; ++micro_batches) {
            CAPTURE(stages);
            CAPTURE(micro_batches);
            std::vector<std::deque<Exchange>> all;
            for (int stage = 0; stage < stages; ++stage) {
                const train::PipelineStage place{stage, stages};
                all.push_back(exchanges_of(place, micro_batches));
                std::int64_t kept = 0, most = 0;
                for (const train::StageTurn& turn : turns_of(place, micro_batches))
                    most = std::max(most, kept += turn.way == train::Way::forward ? 1 : -1);
                CHECK(kept == 0);
                CHECK(most == place.in_flight(micro_batches));
            }
            CHECK(left_waiting(all) == 0);
            if (micro_batches < 2) continue;
            // A stage that takes its first two exchanges in another order stops all of them.
            std::swap(all.front().front(), all.front().back());
            CHECK(left_waiting(all) > 0);
        }
}

TEST_CASE("stages have all layers, each once, and the head counts as some of the last one's") {
    for (const std::int64_t layers : {2, 3, 5, 12})
        for (int stages = 2; stages <= layers; ++stages) {
            model::ModelConfig config = with_layers(of_kind(model::Kind::gpt2), layers);
            std::int64_t next = 0;
            for (int stage = 0; stage < stages; ++stage) {
                const model::LayerRange range = model::layers_of(config, {stage, stages});
                CHECK(range.first == next);
                CHECK(range.count() > 0);
                next = range.end;
            }
            CHECK(next == layers);
        }
    model::ModelConfig config = with_layers(of_kind(model::Kind::gpt2), 12);
    config.vocabulary = 16;
    CHECK(model::layers_of(config, {2, 3}).count() == 4);
    config.vocabulary = 100'000;
    CHECK(model::layers_of(config, {2, 3}).count() == 1);
    CHECK(model::layers_of(config, {0, 3}).count() == 5);
}

TEST_CASE("stages train as one rank") {
    for (const model::ModelConfig& config : decoders())
        for (const auto optimizer : {OptimizerKind::sgd, OptimizerKind::adam}) {
            const std::string kind = model::architecture(config.kind).name;
            CAPTURE(kind);
            const Setup setup = of_lanes(setup_of(config, optimizer), 4);
            const Run one = train_on(setup).front();
            for (const int stages : {2, 3})
                for (const auto& [data, zero] : {std::array{1, 0}, {2, 0}, {2, 1}}) {
                    CAPTURE(stages);
                    CAPTURE(data);
                    CAPTURE(zero);
                    const auto runs = train_on(in_stages(setup, stages, data, zero));
                    check_same(one, runs.front(), optimizer == OptimizerKind::sgd ? 1e-5 : 1e-4);
                    CHECK(runs.back().steps.back().loss == runs.front().steps.back().loss);
                    CHECK(runs.back().validations == runs.front().validations);
                }
        }
}

TEST_CASE("fewer micro-batches than stages are no fault, and a place may have none") {
    const model::ModelConfig config = decoders().front();
    for (const std::int64_t lanes : {1, 2, 3}) {
        const Setup setup = of_lanes(setup_of(config, OptimizerKind::sgd), lanes);
        const Run one = train_on(setup).front();
        check_same(one, train_on(in_stages(setup, 4, 1)).front(), 1e-5);
        check_same(one, train_on(in_stages(setup, 3, 2)).front(), 1e-5);
    }
}

TEST_CASE("every gradient of stages is that of one rank") {
    for (const model::ModelConfig& config : decoders()) {
        const std::string kind = model::architecture(config.kind).name;
        CAPTURE(kind);
        Setup setup = of_lanes(one_long_step(config), 3);
        const Run after = train_on(setup).front();
        setup.options.optimizer.learningrate = 0;
        const Run before = train_on(setup).front();
        for (const int stages : {2, 3}) {
            CAPTURE(stages);
            const Setup long_step = of_lanes(one_long_step(config), 3);
            CHECK(of_changes(before, after, train_on(in_stages(long_step, stages, 2)).front()) <
                  1e-5);
            for (const Setup& cut :
                 {in_stages(long_step, stages, 1), in_stages(long_step, stages, 2, 1)}) {
                CHECK(of_changes(before, after, train_on(cut).front()) < 1e-5);
                if (config.parts.own_head == model::Has::yes) continue;
                Wire forgetful{.forgets_shared = true};
                CHECK(of_changes(before, after, train_on(cut, forgetful).front()) > 1e-2);
            }
        }
    }
}

TEST_CASE("stages train in bf16 and with recomputation") {
    for (const model::ModelConfig& config : decoders()) {
        const std::string kind = model::architecture(config.kind).name;
        CAPTURE(kind);
        Setup setup = of_lanes(setup_of(config, OptimizerKind::adam), 4);
        Setup cut = in_stages(setup, 3, 1);
        const Run plain = train_on(cut).front();
        for (const auto level : {model::Recompute::ffn, model::Recompute::layer})
            for (const std::int64_t layers : {std::int64_t{1}, model::RecomputePlan::all_layers}) {
                cut.recompute = {level, layers};
                CHECK(difference(plain, train_on(cut).front()) == 0);
            }
        setup.precision = train::Precision::bf16;
        const Run narrow = train_on(setup).front();
        for (const int zero : {0, 1})
            CHECK(difference(narrow, train_on(in_stages(setup, 2, 2, zero)).front()) < 0.03);
    }
}

TEST_CASE("a run goes on with other stages, and with tensor ranks") {
    const ScratchFolder folder;
    for (const model::ModelConfig& config : decoders()) {
        const Setup setup = of_lanes(setup_of(config, OptimizerKind::adam, 20), 2);
        const Run whole = train_on(setup).front();
        Run joined;
        std::string from;
        int steps = 0;
        for (const auto& [stages, tensor, data] :
             {std::array{2, 1, 1}, {1, 1, 1}, {3, 1, 2}, {1, 2, 1}, {2, 1, 2}}) {
            steps += 4;
            Setup part = divided(in_stages(setup, stages, data, data - 1), tensor, data);
            part.options.limits.max_train_steps = steps;
            part.from = from;
            part.to = folder.path() + "/" + std::to_string(static_cast<int>(config.kind)) + "-" +
                      std::to_string(steps);
            from = part.to;
            const Run run = train_on(part).front();
            joined.steps.insert(joined.steps.end(), run.steps.begin(), run.steps.end());
        }
        joined.validations = whole.validations;
        CHECK(difference(whole, joined) < 1e-4);
    }
}

TEST_CASE("a plan has the bytes of a stage's weights and of the micro-batches that it keeps") {
    for (const model::ModelConfig& config : decoders())
        for (const int stages : {2, 3}) {
            const train::Batch batch =
                with_following_labels(filled(ToySource::batch_of({3, 4, 5, 6, 7}), config));
            constexpr std::int64_t lanes = 2;
            const std::string kind = model::architecture(config.kind).name;
            CAPTURE(kind);
            CAPTURE(stages);
            comm::run_as_threads(stages, [&](comm::Communicator& ranks) {
                const train::PipelineStage stage{ranks.rank(), stages};
                const auto model = model::make_cpu_model(config, train::Precision::fp32, 1, {},
                                                         {.pipeline = stage});
                train::TrainOptions options;
                options.pipeline = stages;
                options.lanes = lanes;
                Trace trace(Trace::Recording::off, ranks.rank());
                const auto engine = model->make_engine(options, ranks, trace, nullptr);
                if (ranks.rank() == 0) model->initialize(7);
                engine->share_weights();
                engine->restore({}, lanes);
                engine->queue({}, {batch, batch});
                const std::int64_t sent = engine->take_result().pipeline.bytes;
                const auto dry = model::make_dry_model(config, train::Precision::fp32,
                                                       model::DeviceKind::cpu, {}, {}, stage);
                const std::size_t planned =
                    dry->training_bytes(shape_of(batch), kernels::Into::add, lanes);
                if (model->peak_activation_bytes() != planned)
                    throw Error(ErrorKind::contract,
                                std::to_string(model->peak_activation_bytes()) + " of " +
                                    std::to_string(planned));
                const train::WeightMemory held =
                    dry->step(options, train::Master::kept, {0, 1}).memory;
                if (held.total() != engine->memory().total())
                    throw Error(ErrorKind::contract, "other weights than planned");
                const train::DryStep step = dry->step(options, train::Master::kept, {0, 1});
                const std::int64_t to_send =
                    lanes * dry->row_bytes(shape_of(batch)) +
                    train::step_traffic(step.tape, step.mesh, comm::HalfSums::halves).pipeline;
                // A plan leaves out the sums of losses and squares.
                const std::int64_t sums = sent - to_send;
                if (sums < 0 || sums > 1024)
                    throw Error(ErrorKind::contract, std::to_string(sent) + " bytes sent, " +
                                                         std::to_string(to_send) + " planned");
            });
        }
}
