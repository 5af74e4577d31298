// SPDX-License-Identifier: Apache-2.0
// Ranks that compute each layer together must train as one rank does, but for the order of sums.
#include "model/devices/dry_model.hpp"
#include "runtime/train/reduction/step_traffic.hpp"
#include "tests/model/batch_parts.hpp"
#include "tests/model/divided_run.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::tests;

TEST_CASE("ranks that compute each layer together train as one rank") {
    for (const model::ModelConfig& config : configs())
        for (const auto optimizer : {OptimizerKind::sgd, OptimizerKind::adam}) {
            const std::string kind = model::architecture(config.kind).name;
            CAPTURE(kind);
            const Setup setup = setup_of(config, optimizer);
            const Run one = train_on(setup).front();
            for (const int tensor : {2, 4})
                for (const int data : {1, 2}) {
                    CAPTURE(tensor);
                    CAPTURE(data);
                    const auto runs = train_on(divided(setup, tensor, data));
                    CHECK(difference(one, runs.front()) <
                          (optimizer == OptimizerKind::sgd ? 1e-5 : 1e-4));
                    for (std::size_t i = 0; i < one.steps.size(); ++i) {
                        CHECK(runs[0].steps[i].rows == one.steps[i].rows);
                        CHECK(runs[0].steps[i].tokens == one.steps[i].tokens);
                        CHECK(runs[0].steps[i].epoch == one.steps[i].epoch);
                        CHECK(runs[0].steps[i].gnorm ==
                              doctest::Approx(one.steps[i].gnorm).epsilon(1e-3));
                    }
                }
        }
}

TEST_CASE("tensor ranks read the same rows, and each row counts once") {
    const Setup setup = divided(setup_of(of_kind(model::Kind::gpt2), OptimizerKind::sgd, 12), 2, 2);
    const auto runs = train_on(setup);
    REQUIRE(runs.size() == 4);
    CHECK(runs[0].rows == runs[1].rows);
    CHECK(runs[2].rows == runs[3].rows);
    CHECK(runs[0].rows != runs[2].rows);
    std::int64_t rows = 0;
    for (const train::StepReport& step : runs[3].steps) rows += std::llround(step.rows);
    CHECK(rows == static_cast<std::int64_t>(runs[0].rows.size() + runs[2].rows.size()));
}

TEST_CASE("every gradient of tensor ranks is that of one rank") {
    for (const model::ModelConfig& config : configs()) {
        const std::string kind = model::architecture(config.kind).name;
        CAPTURE(kind);
        Setup setup = one_long_step(config);
        const Run after = train_on(setup).front();
        setup.options.optimizer.learningrate = 0;
        const Run before = train_on(setup).front();
        for (const int tensor : {2, 4}) {
            CAPTURE(tensor);
            const Setup cut = divided(one_long_step(config), tensor, 1);
            CHECK(of_changes(before, after, train_on(cut).front()) < 1e-5);
            Wire forgetful{.forgets_shared = true};
            const Run wrong = train_on(cut, forgetful).front();
            CHECK(of_changes(before, after, wrong) > 1e-2);
        }
    }
}

TEST_CASE("tensor ranks train in bf16, with recomputation and with shared replicas") {
    for (const model::ModelConfig& config : configs()) {
        const std::string kind = model::architecture(config.kind).name;
        CAPTURE(kind);
        Setup setup = setup_of(config, OptimizerKind::adam);
        const Run one = train_on(setup).front();
        Setup cut = divided(setup, 2, 2);
        const Run plain = train_on(cut).front();
        for (const auto level : {model::Recompute::ffn, model::Recompute::layer}) {
            cut.recompute.level = level;
            CHECK(difference(plain, train_on(cut).front()) == 0);
        }
        cut.recompute = {};
        for (const int stage : {1, 2, 3}) {
            CAPTURE(stage);
            cut.options.zero.stage = stage;
            CHECK(difference(one, train_on(cut).front()) < 1e-4);
        }
        setup.precision = train::Precision::bf16;
        const Run narrow = train_on(setup).front();
        for (const int stage : {0, 1, 2, 3}) {
            CAPTURE(stage);
            Setup of_stage = divided(setup, 2, 2);
            of_stage.options.zero.stage = stage;
            CHECK(difference(narrow, train_on(of_stage).front()) < 0.03);
        }
    }
}

TEST_CASE("a run goes on with another number of tensor ranks") {
    const tests::ScratchFolder folder;
    for (const model::ModelConfig& config :
         {with_dropout(of_kind(model::Kind::gpt2)), grouped(model::Kind::qwen3, 2)}) {
        Setup setup = setup_of(config, OptimizerKind::adam, 12);
        const Run whole = train_on(setup).front();
        Run joined;
        std::string from;
        int steps = 0;
        for (const int tensor : {2, 1, 4}) {
            steps += 4;
            Setup part = divided(setup, tensor, tensor == 4 ? 2 : 1);
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

TEST_CASE("a layer gathers and scatters rows four times forward and six times backward") {
    model::ModelConfig config = of_kind(model::Kind::gpt2);
    const auto sent = [&](std::int64_t layers, int lanes) {
        config.decoder_layers = layers;
        Setup setup = divided(one_long_step(config), 2, 1);
        setup.options.lanes = lanes;
        Wire wire;
        (void)train_on(setup, wire);
        return wire;
    };
    const Wire two = sent(2, 1), three = sent(3, 1);
    CHECK(three.scattered - two.scattered == 4);
    // Saving gathers the layer's 12 parameters.
    CHECK(three.gathered - two.gathered == 6 + 12);
}

TEST_CASE("a plan has the bytes of a tensor rank's activations and rows") {
    for (const model::ModelConfig& config : configs())
        for (const int tensor : {1, 2, 4}) {
            const train::Batch batch =
                tests::with_following_labels(filled(ToySource::batch_of({3, 4, 5, 6, 7}), config));
            const std::string kind = model::architecture(config.kind).name;
            CAPTURE(kind);
            CAPTURE(tensor);
            comm::run_as_threads(tensor, [&](comm::Communicator& ranks) {
                const train::TensorSlice slice{ranks.rank(), tensor};
                const auto model =
                    model::make_cpu_model(config, train::Precision::fp32, 1, {}, {.tensor = slice});
                train::TrainOptions options;
                options.tensor = tensor;
                Trace trace(Trace::Recording::off, ranks.rank());
                const auto engine = model->make_engine(options, ranks, trace, nullptr);
                if (ranks.rank() == 0) model->initialize(7);
                engine->share_weights();
                engine->restore({}, 1);
                engine->queue({}, {batch});
                const std::int64_t sent = engine->take_result().tensor.bytes;
                const auto dry = model::make_dry_model(config, train::Precision::fp32,
                                                       model::DeviceKind::cpu, {}, slice);
                const train::BatchShape shape = tests::shape_of(batch);
                const std::size_t planned = dry->training_bytes(shape);
                if (model->peak_activation_bytes() != planned)
                    throw Error(ErrorKind::contract,
                                std::to_string(model->peak_activation_bytes()) + " of " +
                                    std::to_string(planned));
                const train::WeightMemory held =
                    dry->step(options, train::Master::kept, {0, 1}).memory;
                if (held.total() != engine->memory().total())
                    throw Error(ErrorKind::contract, "other weights than planned");
                if (tensor == 1) return;
                const train::DryStep step = dry->step(options, train::Master::kept, {0, 1});
                const std::int64_t to_send =
                    dry->row_bytes(shape) +
                    train::step_traffic(step.tape, step.mesh, comm::HalfSums::halves).tensor;
                // A plan leaves out the sums of losses and squares.
                const std::int64_t sums = sent - to_send;
                if (sums < 0 || sums > 1024)
                    throw Error(ErrorKind::contract, std::to_string(sent) + " bytes sent, " +
                                                         std::to_string(to_send) + " planned");
            });
        }
}
