// SPDX-License-Identifier: Apache-2.0
// Counts the memory that a step clears, on the emulated device.
#include <doctest/doctest.h>

#include "runtime/comm/queue/local_communicator.hpp"
#include "tests/model/device_run.hpp"
#include "tests/runtime/train/toy_source.hpp"
#include "tests/support/cuda_emulation/device_work.hpp"

using namespace lockstep;
using tests::cuda_emulation::given_by;
using tests::cuda_emulation::Transfers;

namespace {

// The fills in a step with these lanes, and the bytes of the gradient.
struct Cleared {
    Transfers fills;
    std::size_t gradient_bytes;
};

Cleared cleared_by(model::Kind kind, const std::vector<train::Batch>& lanes) {
    const auto model = model::make_cuda_model(tests::toy_config(kind), train::Precision::fp32, {});
    comm::LocalCommunicator alone;
    Trace trace(Trace::Recording::off, 0);
    const auto engine = model->make_engine({}, alone, trace, nullptr);
    engine->restore({}, 1);
    Cleared cleared{{}, model->parameters().flat_size() * sizeof(float)};
    // The first steps allocate memory that later steps keep.
    for (int step = 0; step < 4; ++step)
        cleared.fills = given_by([&] {
                            engine->queue({}, lanes);
                            (void)engine->take_result();
                        }).fills;
    return cleared;
}

train::Batch two_rows() {
    train::Batch batch = tests::ToySource::batch_of({1, 2});
    batch.source = batch.target;
    return batch;
}

}  // namespace

TEST_CASE("a step with micro-batches clears no gradient") {
    for (const std::size_t lanes : {1, 3}) {
        CAPTURE(lanes);
        const std::vector<train::Batch> batches(lanes, two_rows());
        CHECK(cleared_by(model::Kind::gpt2, batches).fills == Transfers{0, 0});
        CHECK(cleared_by(model::Kind::generator, batches).fills == Transfers{0, 0});
    }
}

TEST_CASE("a step without a micro-batch clears the whole gradient, for the other ranks") {
    const Cleared cleared = cleared_by(model::Kind::gpt2, {train::Batch{}, train::Batch{}});
    CHECK(cleared.fills == Transfers{1, static_cast<std::int64_t>(cleared.gradient_bytes)});
}
