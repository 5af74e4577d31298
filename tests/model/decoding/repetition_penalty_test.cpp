// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <set>

#include "model/decoding/generation.hpp"
#include "tests/model/decoding/toy_decoder.hpp"

using namespace lockstep;
using namespace lockstep::model;
using namespace lockstep::tests;

TEST_CASE("a penalty for repetitions counts the reply, and the context if one stack reads both") {
    int with_context = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed)
        for (const auto inference :
             {Inference::greedy, Inference::beam, Inference::topk, Inference::nucleus}) {
            ToyDecoder decoder(seed);
            GenerationOptions options = with(inference, 1);
            options.repetition_penalty = 1e6;
            const auto of_context = [&](Stacks reads, const Tokens& context) {
                decoder.reads = reads;
                return run(decoder, options, {context}, {0})[0].tokens;
            };
            const Tokens apart = of_context(Stacks::encoder_and_decoder, {3, 0, 4});
            CHECK(apart == of_context(Stacks::encoder_and_decoder, {3}));
            const bool draws = inference == Inference::topk || inference == Inference::nucleus;
            const std::set words(apart.begin(), apart.end());
            CHECK((draws || words.size() == apart.size()));
            const Tokens together = of_context(Stacks::decoder, {3, 0, 4});
            if (together != apart) ++with_context;
        }
    CHECK(with_context > 0);
}

TEST_CASE("a penalty for repetitions counts the token that a decoder begins with") {
    struct Constant final : IncrementalDecoder {
        std::vector<int> start(const std::vector<Tokens>& contexts, int, int) override {
            return std::vector<int>(contexts.size(), 3);
        }
        void step(const Tokens& slots, const Tokens&, std::vector<float>& logits) override {
            logits.clear();
            for (std::size_t i = 0; i < slots.size(); ++i)
                logits.insert(logits.end(), {-9, -9, 5, 4});
        }
        void reorder(const Tokens&) override {}
        std::int64_t vocabulary() const override { return 4; }
        model::Stacks stacks() const override { return model::Stacks::encoder_and_decoder; }
        int host_threads(std::int64_t) const override { return 1; }
    };
    Constant decoder;
    GenerationOptions options = with(Inference::greedy, 1);
    const auto reply = [&](std::int32_t start) {
        return generate(decoder, {{0}}, {0}, options, {start, {2}})[0].tokens;
    };
    CHECK(reply(2).empty());
    options.repetition_penalty = 2;
    CHECK(reply(2) == Tokens{3});
    CHECK(reply(1).empty());
}

TEST_CASE("penalties and min-p give the same replies to contexts alone and together") {
    for (const auto inference : {Inference::greedy, Inference::beam, Inference::nucleus}) {
        ToyDecoder decoder(4);
        decoder.reads = Stacks::decoder;
        GenerationOptions options = with(inference, inference == Inference::greedy ? 1 : 3);
        options.repetition_penalty = 1.3;
        if (inference == Inference::nucleus) options.min_p = 0.2;
        const std::vector<Tokens> contexts{{3, 4}, {4}, {0, 3, 3}};
        const auto together = run(decoder, options, contexts, {7, 8, 9});
        for (std::size_t c = 0; c < contexts.size(); ++c) {
            const auto alone =
                run(decoder, options, {contexts[c]}, {static_cast<std::uint32_t>(7 + c)});
            CHECK(alone[0].tokens == together[c].tokens);
            CHECK(alone[0].score == together[c].score);
        }
    }
}
