// SPDX-License-Identifier: Apache-2.0
// Compares an update of a state in a file with the update of one in memory, bit for bit.
#include "runtime/train/optim/stored_optimizer.hpp"

#include <doctest/doctest.h>

#include "runtime/core/system_failure.hpp"
#include "runtime/device/cpu_context.hpp"
#include "runtime/train/optim/optimizer_inl.hpp"
#include "runtime/train/reduction/buckets.hpp"
#include "runtime/train/sharing/parameter_sync.hpp"
#include "tests/runtime/kernels/optimizer_case.hpp"
#include "tests/runtime/train/file_size_limit.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using device::CpuContext;
using train::Master;
using train::OptimizerKind;
using train::OptimizerOptions;
using train::Precision;

namespace {

// Parameters of awkward sizes, of which one spans many chunks and two do not decay.
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

enum class Place { memory, file };

train::ParameterStore<HostSpace> make_store(Precision precision, const Sharing& sharing,
                                            std::shared_ptr<ScratchFile> file) {
    train::ParameterTable table = awkward_table();
    if (sharing.ranks > 1) table.pad_for(sharing.ranks);
    table.share_among(sharing.ranks, sharing.stage);
    return {table,
            precision,
            file ? Master::stored : Master::kept,
            train::owned_parts(table, small_buckets(), sharing.rank),
            train::plan_segments(table, small_buckets()),
            train::Gradients::kept,
            file};
}

OptimizerOptions options_of(OptimizerKind kind) {
    OptimizerOptions options;
    options.kind = kind;
    options.weight_decay = 0.1;
    options.momentum = 0.9;
    options.offload_bytes = 4096;  // 1,024 elements: many chunks
    return options;
}

void fill(HostView<float> values, std::uint64_t seed, double size) {
    const auto random =
        tests::random_numbers<float>(static_cast<std::int64_t>(values.size()), seed, size);
    std::ranges::copy(random, values.begin());
}

// An optimizer with its store.
class Side {
public:
    Side(OptimizerOptions options, Precision precision, Place place, const Sharing& sharing = {})
        : store_(make_store(
              precision, sharing,
              place == Place::file ? std::make_shared<ScratchFile>(folder_.path()) : nullptr)) {
        if (place == Place::file) {
            options.offload = train::Offload::optimizer;
            options.offload_dir = folder_.path();
        }
        optimizer_ = train::make_optimizer<CpuContext>(options, store_.table(), store_, context_);
        for (const train::OwnedPart& part : store_.owned())
            fill(store_.master(part), 1 + part.first, 1);
        train::write_owned_weights(context_, store_);
    }

    void update(const kernels::StepState& state) {
        for (const train::OwnedPart& part : store_.owned())
            fill(store_.gradient_sum(part), 100 + state.updates + part.first, 3);
        optimizer_->update(&state);
    }
    std::vector<float> master() const {
        std::vector<float> all;
        for (const train::OwnedPart& part : store_.owned()) append(all, store_.master(part));
        return all;
    }
    std::vector<float> computing() const {
        std::vector<float> all;
        if (store_.weight_placement().has_slots()) return all;
        train::with_element(CpuContext::Elements{}, store_.precision(), [&]<class T>() {
            for (const train::OwnedPart& part : store_.owned())
                append(all, store_.template compute<T>(part.first, part.count));
        });
        return all;
    }
    std::vector<float> state() const {
        std::vector<float> all;
        for (const auto& flat : optimizer_->flat_state()) append(all, flat.values);
        return all;
    }
    std::vector<std::string> names() const {
        std::vector<std::string> all;
        for (const auto& tensor : optimizer_->state()) all.push_back(tensor.name);
        return all;
    }
    // Writes the moments as a checkpoint that is loaded does.
    void load(const Side& from) {
        for (std::size_t i = 0; i < optimizer_->flat_state().size(); ++i)
            std::ranges::copy(from.optimizer_->flat_state()[i].values,
                              optimizer_->flat_state()[i].values.begin());
        for (const train::OwnedPart& part : store_.owned())
            std::ranges::copy(from.store_.master(part), store_.master(part).begin());
    }
    train::OptimizerBytes bytes() const { return optimizer_->bytes(); }
    std::size_t packed_size() const { return store_.packed_size(); }
    const std::string& file() const { return store_.file()->path(); }

private:
    template <class T>
    static void append(std::vector<float>& all, HostView<T> values) {
        for (const T value : values) all.push_back(static_cast<float>(value));
    }

    tests::ScratchFolder folder_;
    CpuContext context_{1};
    train::ParameterStore<HostSpace> store_;
    std::unique_ptr<train::Optimizer<HostSpace>> optimizer_;
};

kernels::StepState state_at(const OptimizerOptions& options, std::uint64_t updates) {
    kernels::StepState state{.lr = 0.01F, .gradient_scale = 0.25F};
    state.updates = static_cast<decltype(state.updates)>(updates);
    return tests::for_adam(options.beta1, train::beta2_of(options), state);
}

void check_equal(const Side& one, const Side& other) {
    REQUIRE(one.master() == other.master());
    REQUIRE(one.computing() == other.computing());
    REQUIRE(one.state() == other.state());
    CHECK(one.names() == other.names());
}

void check_same(const OptimizerOptions& options, Precision precision, const Sharing& sharing = {}) {
    CAPTURE(static_cast<int>(options.kind));
    CAPTURE(train::name(precision));
    CAPTURE(sharing.stage);
    Side own(options, precision, Place::memory, sharing);
    Side stored(options, precision, Place::file, sharing);
    for (std::uint64_t i = 0; i < 4; ++i) {
        kernels::StepState state = state_at(options, i);
        state.skip = i == 1 ? 1 : 0;  // as after an overflow
        if (i == 3) {                 // a run that continues from the other's checkpoint
            Side resumed(options, precision, Place::file, sharing);
            resumed.load(own);
            own.update(state);
            resumed.update(state);
            check_equal(resumed, own);
        } else {
            own.update(state);
        }
        stored.update(state);
        check_equal(stored, own);
    }
}

}  // namespace

TEST_CASE("a state in a file is updated as one in memory, bit for bit") {
    for (const auto kind :
         {OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::adamw, OptimizerKind::lion})
        for (const auto precision : {Precision::fp32, Precision::bf16})
            check_same(options_of(kind), precision);
    auto options = options_of(OptimizerKind::adam);
    options.amsgrad = true;
    options.weight_decay = 0;
    check_same(options, Precision::bf16);
    options = options_of(OptimizerKind::sgd);
    options.momentum = 0;
    check_same(options, Precision::bf16);
    options = options_of(OptimizerKind::adam);
    options.offload_bytes = std::size_t{25} << 20;  // one chunk, which is not full
    check_same(options, Precision::fp32);
}

TEST_CASE("what a rank owns is updated in a file at every stage") {
    for (const int stage : {1, 2, 3})
        for (const auto precision : {Precision::fp32, Precision::bf16})
            for (const int rank : {0, 1, 2})
                check_same(options_of(OptimizerKind::adamw), precision, {stage, 3, rank});
}

TEST_CASE("three chunks of each column are in memory, and the rest on disk") {
    const auto options = options_of(OptimizerKind::adam);
    const std::size_t chunks = 3 * 4096;
    for (const auto precision : {Precision::fp32, Precision::bf16}) {
        const std::size_t columns = precision == Precision::fp32 ? 2 : 3;  // with the master
        const Side side(options, precision, Place::file);
        const std::size_t lines = 4 * kernels::decay_words(1024) * (side.packed_size() / 1024 + 1);
        CHECK(side.bytes().disk == columns * ScratchFile::bytes_of(side.packed_size()));
        CHECK(side.bytes().device > columns * chunks);
        CHECK(side.bytes().device <= columns * chunks + lines);
        CHECK(side.bytes().pinned == 0);
    }
    // Slots are filled from the master, which stays in memory.
    const Side slots(options, Precision::bf16, Place::file, {3, 3, 1});
    CHECK(slots.bytes().disk == 2 * ScratchFile::bytes_of(slots.packed_size()));
}

TEST_CASE("a disk that takes no more ends an update, which names the file and the call") {
    const auto options = options_of(OptimizerKind::adam);
    Side side(options, Precision::bf16, Place::file);
    side.update(state_at(options, 0));
    const tests::FileSizeLimit limit(3 * 4096);
    CHECK_THROWS_WITH_AS(side.update(state_at(options, 1)),
                         doctest::Contains((side.file() + ": pwrite: File too large").c_str()),
                         SystemFailure);
}

TEST_CASE("chunks of a state cover the owned parts, and begin where blocks do") {
    const std::vector<train::OwnedPart> owned{{256, 1280, 0}, {2048, 256, 1280}, {4096, 768, 1536}};
    const auto chunks = train::state_chunks(owned, 4100);
    REQUIRE(chunks.size() == 3);
    const auto is = [&](std::size_t chunk, std::size_t i, const train::OwnedPart& range,
                        std::size_t part, std::size_t in_part, std::size_t word) {
        const train::ChunkPart& found = chunks[chunk].parts.at(i);
        CHECK(found.range.first == range.first);
        CHECK(found.range.count == range.count);
        CHECK(found.range.packed == range.packed);
        CHECK(found.part == part);
        CHECK(found.in_part == in_part);
        CHECK(found.decay_word == word);
    };
    CHECK(chunks[1].first == 1024);
    CHECK(chunks[2].first == 2048);
    CHECK(chunks[2].count == 256);
    is(0, 0, {256, 1024, 0}, 0, 0, 0);
    is(1, 0, {1280, 256, 1024}, 0, 1024, 2);
    is(1, 1, {2048, 256, 1280}, 1, 0, 3);
    is(1, 2, {4096, 512, 1536}, 2, 0, 4);
    is(2, 0, {4608, 256, 2048}, 2, 512, 5);
    CHECK(train::ranges_of(chunks).size() == 5);
    CHECK(train::state_chunks(owned, 1).size() == 3);
    CHECK(train::state_chunks(owned, 8192).size() == 2);
    CHECK(train::state_chunks({{0, 0, 0}}, 8192).empty());
}

TEST_CASE("a state on disk needs a folder, and an optimizer of elements") {
    auto options = options_of(OptimizerKind::adam);
    options.moments = train::Moments::int8;
    CHECK_THROWS_AS(Side(options, Precision::bf16, Place::file), Error);
    CHECK_THROWS_AS(Side(options_of(OptimizerKind::muon), Precision::fp32, Place::file), Error);
}
