// SPDX-License-Identifier: Apache-2.0
// Compares an update by the host with the device's own, bit for bit, on the emulated device.
#include "runtime/train/optim/offloaded_optimizer.hpp"

#include <doctest/doctest.h>

#include "runtime/device/cuda/cuda_host_side.hpp"
#include "runtime/device/cuda/cuda_readback.hpp"
#include "runtime/train/optim/optimizer_inl.hpp"
#include "runtime/train/reduction/buckets.hpp"
#include "runtime/train/sharing/parameter_sync.hpp"
#include "tests/runtime/kernels/optimizer_case.hpp"
#include "tests/support/cuda_emulation/device_work.hpp"
#include "tests/support/on_device.hpp"

using namespace lockstep;
using device::CudaContext;
using train::Master;
using train::OptimizerKind;
using train::OptimizerOptions;
using train::Precision;

namespace {

// Parameters of awkward sizes, of which one spans several chunks and two do not decay.
train::ParameterTable awkward_table() {
    train::ParameterTable table;
    table.add("a", {3, 5}, 0, train::WeightDecay::apply);
    table.add("bias", {7}, 0, train::WeightDecay::skip);
    table.add("b", {701, 43}, 0, train::WeightDecay::apply);
    table.add("norm", {513}, 1, train::WeightDecay::skip);
    table.add("table", {33, 65}, 2, train::WeightDecay::apply);
    return table;
}

train::ReducerOptions small_buckets() {
    train::ReducerOptions options;
    options.first_bucket_bytes = options.bucket_bytes = 8192;
    return options;
}

struct Sharing {
    int stage = 0, ranks = 1, rank = 0;
};

train::ParameterStore<CudaSpace> make_store(Precision precision, Master master,
                                            const Sharing& sharing) {
    train::ParameterTable table = awkward_table();
    if (sharing.ranks > 1) table.pad_for(sharing.ranks);
    table.share_among(sharing.ranks, sharing.stage);
    return {table, precision, master, train::owned_parts(table, small_buckets(), sharing.rank),
            train::plan_segments(table, small_buckets())};
}

OptimizerOptions options_of(OptimizerKind kind) {
    OptimizerOptions options;
    options.kind = kind;
    options.weight_decay = 0.1;
    options.momentum = 0.9;
    options.offload_bytes = 4096;  // 1,024 elements: several chunks
    return options;
}

std::vector<float> random_values(std::size_t count, std::uint64_t seed, double size) {
    return tests::random_numbers<float>(static_cast<std::int64_t>(count), seed, size);
}

// An optimizer with its store, on a device of its own.
class Side {
public:
    Side(OptimizerOptions options, Precision precision, Master master, const Sharing& sharing)
        : store_(make_store(precision, master, sharing)) {
        context_.cached<device::HostThreads>().count = 2;
        if (master == Master::offloaded) options.offload = train::Offload::optimizer;
        optimizer_ = train::make_optimizer<CudaContext>(options, store_.table(), store_, context_);
        for (const train::OwnedPart& part : store_.owned())
            write(random_values(part.count, 1 + part.first, 1), store_.master(part));
        train::write_owned_weights(context_, store_);
        context_.synchronize();
    }

    void update(const kernels::StepState& state) {
        for (const train::OwnedPart& part : store_.owned())
            write(random_values(part.count, 100 + state.updates + part.first, 3),
                  store_.gradient_sum(part));
        const tests::OnDevice<kernels::StepState> on_device(context_, {state});
        optimizer_->update(on_device.data());
        context_.synchronize();
    }
    std::vector<float> master() {
        std::vector<float> all;
        for (const train::OwnedPart& part : store_.owned()) append(all, store_.master(part));
        return all;
    }
    std::vector<float> computing() {
        std::vector<float> all;
        if (store_.weight_placement().has_slots()) return all;
        train::with_element(CudaContext::Elements{}, store_.precision(), [&]<class T>() {
            for (const train::OwnedPart& part : store_.owned())
                append(all, store_.template compute<T>(part.first, part.count));
        });
        return all;
    }
    std::vector<float> state() {
        std::vector<float> all;
        for (const auto& flat : optimizer_->flat_state()) append(all, flat.values);
        return all;
    }
    std::vector<std::string> names() const {
        std::vector<std::string> all;
        for (const auto& tensor : optimizer_->state()) all.push_back(tensor.name);
        return all;
    }
    train::UpdatedBy updated_by() const { return optimizer_->updated_by(); }

private:
    void write(const std::vector<float>& from, CudaView<float> to) {
        device::copy(context_, tests::const_view_of(from), to);
        context_.synchronize();
    }
    template <class T>
    void append(std::vector<float>& all, CudaView<T> values) {
        std::vector<T> host(values.size());
        device::copy(context_, CudaView<const T>(values), view_of(host));
        context_.synchronize();
        for (const T value : host) all.push_back(static_cast<float>(value));
    }

    CudaContext context_{0};
    train::ParameterStore<CudaSpace> store_;
    std::unique_ptr<train::Optimizer<CudaSpace>> optimizer_;
};

void check_same(const OptimizerOptions& options, Precision precision, const Sharing& sharing = {}) {
    CAPTURE(static_cast<int>(options.kind));
    CAPTURE(train::name(precision));
    CAPTURE(sharing.stage);
    Side own(options, precision, Master::kept, sharing);
    Side by_host(options, precision, Master::offloaded, sharing);
    CHECK(own.updated_by() == train::UpdatedBy::device);
    CHECK(by_host.updated_by() == train::UpdatedBy::host);
    kernels::StepState state{.lr = 0.01F, .gradient_scale = 0.25F};
    for (state.updates = 0; state.updates < 3; ++state.updates) {
        state = tests::for_adam(options.beta1, train::beta2_of(options), state);
        state.skip = state.updates == 1 ? 1 : 0;  // as after an overflow
        own.update(state);
        by_host.update(state);
    }
    REQUIRE(by_host.master() == own.master());
    REQUIRE(by_host.computing() == own.computing());
    REQUIRE(by_host.state() == own.state());
    CHECK(by_host.names() == own.names());
}

}  // namespace

TEST_CASE("the host updates as the device does, bit for bit, with every optimizer and precision") {
    for (const auto kind :
         {OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::adamw, OptimizerKind::lion})
        for (const auto precision : {Precision::fp32, Precision::bf16, Precision::fp16})
            check_same(options_of(kind), precision);
}

TEST_CASE("the host keeps amsgrad's bound, no momentum, and no lines of decay") {
    auto options = options_of(OptimizerKind::adam);
    options.amsgrad = true;
    options.weight_decay = 0;
    check_same(options, Precision::bf16);
    options = options_of(OptimizerKind::sgd);
    options.momentum = 0;
    check_same(options, Precision::bf16);
}

TEST_CASE("the host updates what a rank owns, at every stage") {
    for (const int stage : {1, 2, 3})
        for (const auto precision : {Precision::fp32, Precision::bf16, Precision::fp16})
            check_same(options_of(OptimizerKind::adamw), precision, {stage, 3, 1});
}

TEST_CASE("an update copies gradients down and weights up, once, and a skipped one neither") {
    using tests::cuda_emulation::given_by;
    const auto elements = static_cast<std::int64_t>(awkward_table().flat_size());
    constexpr std::int64_t state_bytes = sizeof(kernels::StepState);
    const std::int64_t given_bytes = 4 * elements + state_bytes;  // by the test
    for (const std::uint32_t skip : {0u, 1u}) {
        Side side(options_of(OptimizerKind::adam), Precision::bf16, Master::offloaded, {});
        const auto weights = side.master(), computing = side.computing(), state = side.state();
        kernels::StepState order = tests::for_adam(0.9, 0.999, {.lr = 1});
        order.skip = skip;
        const auto work = given_by([&] { side.update(order); });
        CHECK(work.launches() == 0);
        CHECK(work.downloads.bytes == state_bytes + (skip == 0 ? 4 * elements : 0));
        CHECK(work.uploads.bytes == given_bytes + (skip == 0 ? 2 * elements : 0));
        CHECK((side.master() == weights) == (skip == 1));
        CHECK((side.computing() == computing) == (skip == 1));
        CHECK((side.state() == state) == (skip == 1));
    }
}

TEST_CASE("chunks cover the owned parts, and begin where words of decay do") {
    const std::vector<train::OwnedPart> owned{{256, 1280, 0}, {2048, 256, 1280}, {4096, 512, 1536}};
    const auto chunks = train::offload_chunks(owned, 2050);
    REQUIRE(chunks.size() == 5);
    const auto is = [&](std::size_t i, std::size_t part, std::size_t first, std::size_t count,
                        std::size_t word) {
        CHECK(chunks[i].part == part);
        CHECK(chunks[i].first == first);
        CHECK(chunks[i].count == count);
        CHECK(chunks[i].decay_word == word);
    };
    is(0, 0, 0, 512, 0);
    is(1, 0, 512, 512, 1);
    is(2, 0, 1024, 256, 2);
    is(3, 1, 0, 256, 3);
    is(4, 2, 0, 512, 4);
    CHECK(train::largest(chunks) == 512);
    CHECK(train::largest(train::offload_chunks(owned, 1)) == 512);
    CHECK(train::offload_chunks(owned, std::size_t{25} << 20).size() == 3);
}

TEST_CASE("optimizers that the host lacks are refused") {
    auto options = options_of(OptimizerKind::adamw);
    options.moments = train::Moments::int8;
    CHECK_FALSE(train::can_offload(options));
    CHECK_FALSE(train::can_offload(options_of(OptimizerKind::adafactor)));
    CHECK_THROWS_AS(Side(options, Precision::bf16, Master::offloaded, {}), Error);
}
