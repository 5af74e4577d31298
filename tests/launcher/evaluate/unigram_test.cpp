// SPDX-License-Identifier: Apache-2.0
#include "launcher/evaluate/unigram.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace lockstep;

namespace {

class FixedLabels final : public train::EvalSource {
public:
    explicit FixedLabels(std::vector<std::int32_t> labels) : labels_(std::move(labels)) {}

    bool next(train::Batch& batch) override {
        if (done_) return false;
        done_ = true;
        batch = {};
        batch.labels = labels_;
        return true;
    }
    void rewind() override { done_ = false; }

private:
    std::vector<std::int32_t> labels_;
    bool done_ = false;
};

}  // namespace

TEST_CASE("unigram perplexity of counts that can be checked by hand") {
    // Counts 3, 1, 0 and one added to each: 4/7, 2/7, 1/7. Unlabelled tokens do not count.
    FixedLabels training({0, 0, -1, 0, 1}), test({0, -1, 2});
    const double expected = std::exp(-(std::log(4.0 / 7) + std::log(1.0 / 7)) / 2);
    CHECK(launcher::unigram_perplexity(training, test, 3) == doctest::Approx(expected));
}

TEST_CASE("labels that are all alike cost almost nothing") {
    FixedLabels training(std::vector<std::int32_t>(10'000, 1)), test({1, 1, 1});
    CHECK(launcher::unigram_perplexity(training, test, 2) == doctest::Approx(1.0).epsilon(1e-3));
}
