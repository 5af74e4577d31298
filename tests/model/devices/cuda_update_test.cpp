// SPDX-License-Identifier: Apache-2.0
// Counts the work that a step gives a GPU between backward and the next step, on the emulated
// device.
#include <doctest/doctest.h>

#include "model/blocks/layout.hpp"
#include "runtime/comm/threads/thread_world.hpp"
#include "runtime/train/reduction/buckets.hpp"
#include "tests/model/device_run.hpp"
#include "tests/support/cuda_emulation/device_work.hpp"

using namespace lockstep;
using tests::cuda_emulation::DeviceWork;
using tests::cuda_emulation::given_by;
using train::OptimizerKind;

namespace {

constexpr int steps = 5, buckets_at_least = 4;

train::TrainOptions options_of(OptimizerKind optimizer) {
    train::TrainOptions options;
    options.optimizer.kind = optimizer;
    options.optimizer.weight_decay = 0.01;  // not on biases and norms, which alternate with weights
    options.reducer.first_bucket_bytes = options.reducer.bucket_bytes = 4096;
    return options;
}

DeviceWork of_run(train::TrainOptions options, int world, std::size_t max_graphs, int length) {
    DeviceWork work;
    options.limits.max_train_steps = length;
    comm::run_as_threads(world, [&](comm::Communicator& ranks) {
        model::GpuSettings settings;
        settings.max_graphs = max_graphs;
        const auto model = model::make_cuda_model(tests::toy_config(model::Kind::gpt2),
                                                  train::Precision::bf16, settings);
        const DeviceWork given = given_by([&] { tests::train_on(*model, options, ranks); });
        if (ranks.rank() == 0) work = given;
    });
    return work;
}

// The work of `steps` steps, without the work that a run does once.
struct StepsWork {
    DeviceWork few, many;

    std::int64_t launches(const std::string& kernel) const {
        return many.launches(kernel) - few.launches(kernel);
    }
};
StepsWork of_steps(const train::TrainOptions& options, int world, std::size_t max_graphs) {
    return {of_run(options, world, max_graphs, steps),
            of_run(options, world, max_graphs, 2 * steps)};
}

}  // namespace

TEST_CASE("an update is one kernel and the gradient's norm another, by graphs as well") {
    for (const std::size_t max_graphs : {0, 64}) {
        const StepsWork adamw = of_steps(options_of(OptimizerKind::adamw), 1, max_graphs);
        CHECK(adamw.launches("adam/") == steps);
        CHECK(adamw.launches("reduce/squares_kernel") == steps);
        CHECK(adamw.launches("reduce/flat_kernel") == 0);
    }
    CHECK(of_steps(options_of(OptimizerKind::sgd), 1, 0).launches("sgd/") == steps);
}

TEST_CASE("gradients that travel in 16 bits are packed and unpacked by a kernel for each bucket") {
    auto options = options_of(OptimizerKind::adam);
    options.reducer.comm_dtype = Dtype::bf16;
    const StepsWork work = of_steps(options, 2, 0);
    const auto table = model::parameter_table(tests::toy_config(model::Kind::gpt2));
    const auto buckets =
        static_cast<std::int64_t>(train::plan_buckets(table, options.reducer).size());
    REQUIRE(buckets >= buckets_at_least);
    CHECK(work.launches("reduce/flat_kernel") == steps * 2 * buckets);
    CHECK(work.launches("reduce/squares_kernel") == steps);
    CHECK(work.launches("adam/") == steps);
}
