// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/dry_traffic.hpp"

#include <doctest/doctest.h>

#include "runtime/train/step/dry_step.hpp"

using namespace lockstep;
using launcher::plan::traffic_in_step;

namespace {

model::ModelConfig small_model() {
    model::ModelConfig config;
    config.vocabulary = 100;
    config.embedding_size = 32;
    config.ffn_size = 64;
    config.heads = 2;
    config.encoder_layers = 2;
    config.decoder_layers = 3;
    config.n_positions = 16;
    return config;
}

}  // namespace

TEST_CASE("the traffic of many passes is what all of them send") {
    const auto dry =
        model::make_dry_model(small_model(), train::Precision::bf16, model::DeviceKind::cpu);
    for (const int stage : {0, 1, 2, 3})
        for (const std::int64_t lanes : {1, 4, 8, 12, 13, 17, 36}) {
            CAPTURE(stage);
            CAPTURE(lanes);
            train::TrainOptions options;
            options.lanes = lanes;
            options.zero = {stage, stage == 0 ? 0 : 2};
            options.reducer.first_bucket_bytes = options.reducer.bucket_bytes = 16384;
            const train::DryRank place{1, 4};
            const train::StepTraffic sent = traffic_in_step(*dry, options, {place});
            const train::DryStep step = dry->step(options, train::Master::kept, place);
            const train::StepTraffic whole =
                train::step_traffic(step.tape, step.mesh, comm::HalfSums::halves);
            CHECK(sent.weights == whole.weights);
            CHECK(sent.gradients == whole.gradients);
            CHECK(sent.replicas == whole.replicas);
            CHECK(sent.total() > 0);
        }
}

TEST_CASE("one rank sends nothing") {
    const auto dry =
        model::make_dry_model(small_model(), train::Precision::fp32, model::DeviceKind::gpu);
    CHECK(traffic_in_step(*dry, {}, {}).total() == 0);
}
