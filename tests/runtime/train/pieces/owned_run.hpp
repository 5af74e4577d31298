// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/core/philox.hpp"
#include "runtime/train/sharing/run_tensors.hpp"
#include "tests/runtime/train/checkpoint/saved_run.hpp"

namespace lockstep::tests {

// What one rank owns of a run of two weights and their moments: of each tensor the elements between
// two shares of it. All values are a function of the seed, the tensor and the element.
class OwnedRun final : public train::OwnedAccess {
public:
    OwnedRun(std::uint64_t seed, double from, double to) : seed_(seed) {
        table_.add("layer.weight", {30, 40}, 0, train::WeightDecay::apply);
        table_.add("layer.bias", {7}, 0, train::WeightDecay::skip);
        for (const train::Parameter& p : table_.all()) {
            add(weights_, p, "", from, to);
            add(moments_, p, ".exp_avg", from, to);
        }
    }

    const train::ParameterTable& table() const { return table_; }
    train::RunPieces current() override { return pieces(weights_, moments_); }
    train::RunPieces copy() override {
        kept_weights_ = weights_;
        kept_moments_ = moments_;
        return pieces(kept_weights_, kept_moments_);
    }
    train::RunPieces reserve() override { return pieces(weights_, moments_); }
    void write_back(Written) override {}
    void save_from_here() override {}

    // Changes all values, as steps do.
    void fill(std::uint64_t seed) {
        seed_ = seed;
        for (auto* ranges : {&weights_, &moments_})
            for (Range& range : *ranges) fill(range);
    }
    void clear() {
        for (auto* ranges : {&weights_, &moments_})
            for (Range& range : *ranges) std::ranges::fill(range.values, 0.0f);
    }
    bool holds(std::uint64_t seed) const {
        OwnedRun other = *this;
        other.fill(seed);
        return other.weights_ == weights_ && other.moments_ == moments_;
    }

private:
    struct Range {
        std::string name;
        std::vector<std::int64_t> shape;
        std::size_t first = 0;
        std::vector<float> values;
        bool operator==(const Range&) const = default;
    };

    void fill(Range& range) const {
        for (std::size_t i = 0; i < range.values.size(); ++i) {
            PhiloxStream random(mix(seed_ + range.name.size(), range.first + i));
            range.values[i] = random_float(random);
        }
    }
    void add(std::vector<Range>& ranges, const train::Parameter& p, const std::string& suffix,
             double from, double to) const {
        const auto element = [&](double share) {
            return static_cast<std::size_t>(share * static_cast<double>(p.count));
        };
        if (element(from) == element(to)) return;
        Range range{p.name + suffix, p.shape, element(from), {}};
        range.values.resize(element(to) - element(from));
        fill(range);
        ranges.push_back(std::move(range));
    }
    train::RunPieces pieces(std::vector<Range>& weights, std::vector<Range>& moments) {
        train::RunPieces all{table_, {".exp_avg"}};
        for (Range& range : weights)
            all.weights.push_back({range.name, range.shape, range.first, view_of(range.values)});
        for (Range& range : moments)
            all.optimizer.push_back({range.name, range.shape, range.first, view_of(range.values)});
        return all;
    }

    train::ParameterTable table_;
    std::uint64_t seed_;
    std::vector<Range> weights_, moments_, kept_weights_, kept_moments_;
};

// The part of rank number `rank` of `ranks` equal ones.
inline OwnedRun owned_run(std::uint64_t seed, int rank, int ranks) {
    return {seed, static_cast<double>(rank) / ranks, static_cast<double>(rank + 1) / ranks};
}

}  // namespace lockstep::tests
