// SPDX-License-Identifier: Apache-2.0
#include "model/decoding/generation.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "model/decoding/ngram_blocking.hpp"
#include "model/decoding/sampling.hpp"
#include "model/decoding/search.hpp"
#include "runtime/core/error.hpp"
#include "tests/model/decoding/toy_decoder.hpp"

using namespace lockstep;
using namespace lockstep::model;
using namespace lockstep::tests;

namespace {

// Finds the best complete reply of at most `most` tokens by trying all of them.
struct Exhaustive {
    const ToyDecoder& decoder;
    double penalty;
    int most;
    Hypothesis best{{}, -std::numeric_limits<double>::infinity()};

    void visit(const Tokens& seen, const Tokens& reply, double score) {
        auto log_probs = decoder.scores_after(seen);
        normalise(log_probs, 1, start_token);
        for (std::int32_t token = 0; token < vocabulary; ++token) {
            if (token == start_token) continue;
            const double sum = score + log_probs[token];
            if (token == end_token) {
                const double length = static_cast<double>(reply.size()) + 2;
                const double rescored = sum / std::pow((1 + length) / 6, penalty);
                if (rescored > best.score) best = {reply, rescored};
            } else if (static_cast<int>(reply.size()) + 1 < most) {
                Tokens longer = seen, longer_reply = reply;
                longer.push_back(token);
                longer_reply.push_back(token);
                visit(longer, longer_reply, sum);
            }
        }
    }
};

bool repeats_ngram(const Tokens& tokens, std::size_t n) {
    std::set<Tokens> seen;
    for (std::size_t i = 0; i + n <= tokens.size(); ++i) {
        if (!seen.insert(Tokens(tokens.begin() + i, tokens.begin() + i + n)).second) return true;
    }
    return false;
}

}  // namespace

TEST_CASE("a beam as wide as the tree finds the best reply") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        ToyDecoder decoder(seed);
        GenerationOptions options = with(Inference::beam, 500);
        options.beam_min_length = 0;
        options.beam_length_penalty = seed % 2 == 0 ? 0.65 : 2.0;
        options.max_length = 5;
        const auto replies = run(decoder, options);
        int i = 0;
        for (const std::int32_t first : {3, 4, 0}) {
            Exhaustive all{decoder, options.beam_length_penalty, options.max_length};
            all.visit({first, 0, start_token}, {}, 0);
            CHECK(replies[i].tokens == all.best.tokens);
            CHECK(replies[i].score == doctest::Approx(all.best.score).epsilon(1e-6));
            ++i;
        }
    }
}

TEST_CASE("greedy is a beam of one and takes the most likely token each time") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        ToyDecoder decoder(seed);
        GenerationOptions beam = with(Inference::beam, 1);
        beam.beam_min_length = 0;
        const auto greedy = run(decoder, with(Inference::greedy, 1));
        const auto one = run(decoder, beam);
        for (std::size_t c = 0; c < greedy.size(); ++c) {
            CHECK(greedy[c].tokens == one[c].tokens);
            CHECK(greedy[c].score == one[c].score);
        }
        Tokens seen{3, 0, start_token};
        for (const std::int32_t token : greedy[0].tokens) {
            auto scores = decoder.scores_after(seen);
            scores[start_token] = -1;
            CHECK(std::max_element(scores.begin(), scores.end()) - scores.begin() == token);
            seen.push_back(token);
        }
    }
}

TEST_CASE("a START that is an end is said, and the first token is that which was asked for") {
    int silent = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        ToyDecoder decoder(seed);
        const std::vector<Tokens> context{{3}};
        // The toy likes to say START.
        const model::SpecialTokens same{.start = start_token, .ends = {start_token}};
        const auto replies =
            model::generate(decoder, context, {0}, with(Inference::greedy, 1), same);
        silent += replies[0].tokens.empty() ? 1 : 0;
        for (const Inference inference : {Inference::greedy, Inference::beam, Inference::topk}) {
            const model::SpecialTokens asked{.first = 4};
            const auto begun = model::generate(decoder, context, {0}, with(inference, 1), asked)[0];
            REQUIRE(!begun.tokens.empty());
            CHECK(begun.tokens.front() == 4);
        }
        const model::SpecialTokens end{.first = end_token};
        const auto ended =
            model::generate(decoder, context, {0}, with(Inference::greedy, 1), end)[0];
        CHECK(ended.tokens.empty());
        CHECK(ended.score == 0.0);
    }
    CHECK(silent > 0);
}

TEST_CASE("replies do not depend on the number of threads") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        ToyDecoder alone(seed), shared(seed);
        alone.threads = 1;
        const auto one = run(alone, with(Inference::beam, 4));
        const auto several = run(shared, with(Inference::beam, 4));
        REQUIRE(one.size() == several.size());
        for (std::size_t c = 0; c < one.size(); ++c) {
            CHECK(one[c].tokens == several[c].tokens);
            CHECK(one[c].score == several[c].score);
        }
    }
}

TEST_CASE("a wider beam scores at least as well on average, and contexts do not mix") {
    double narrow = 0, wide = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        ToyDecoder decoder(seed);
        const auto together = run(decoder, with(Inference::beam, 4));
        const auto alone = run(decoder, with(Inference::beam, 4), {{4}}, {11});
        CHECK(together[1].tokens == alone[0].tokens);
        narrow += run(decoder, with(Inference::beam, 1))[1].score;
        wide += together[1].score;
    }
    CHECK(wide > narrow);
}

TEST_CASE("n-gram blocking and the minimal length hold") {
    for (const Inference inference :
         {Inference::greedy, Inference::beam, Inference::topk, Inference::nucleus}) {
        int longest = 0;
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            ToyDecoder decoder(seed);
            GenerationOptions options = with(inference, inference == Inference::greedy ? 1 : 3);
            options.beam_block_ngram = 2;
            options.beam_context_block_ngram = 1;
            options.beam_min_length = 3;
            options.topk = 4;
            const auto replies = run(decoder, options, {{3}, {4}}, {0, 1});
            for (const Hypothesis& reply : replies) {
                CHECK_FALSE(repeats_ngram(reply.tokens, 2));
                longest = std::max(longest, static_cast<int>(reply.tokens.size()));
                if (inference != Inference::greedy) CHECK(reply.tokens.size() >= 3);
            }
            CHECK(std::ranges::count(replies[0].tokens, 3) == 0);
            CHECK(std::ranges::count(replies[1].tokens, 4) == 0);
        }
        CHECK(longest >= 3);
    }
}

TEST_CASE("n-grams of the whole context are blocked, unless only what is left of it counts") {
    ToyDecoder decoder(3);
    GenerationOptions options = with(Inference::greedy, 1);
    options.beam_context_block_ngram = 1;
    const std::vector<Tokens> contexts{{3}}, whole{{0, 4, 3}};
    const auto reply = [&] {
        return generate(decoder, contexts, {0}, options, {start_token, {end_token}}, whole)[0]
            .tokens;
    };
    CHECK(reply().empty());  // no word is left
    options.beam_block_full_context = false;
    const Tokens of_the_rest = reply();
    CHECK_FALSE(of_the_rest.empty());
    CHECK(std::ranges::count(of_the_rest, 3) == 0);
}

TEST_CASE("what blocks which token") {
    const auto blocked = [](int n, const Tokens& tokens, const Tokens& seen) {
        std::vector<float> log_probs(8, 0);
        block_ngrams(n, tokens, seen, log_probs);
        Tokens result;
        for (int i = 0; i < 8; ++i) {
            if (log_probs[i] < 0) result.push_back(i);
        }
        return result;
    };
    const Tokens tokens{3, 4, 5, 3, 4};
    CHECK(blocked(3, tokens, tokens) == Tokens{5});
    CHECK(blocked(2, tokens, tokens) == Tokens{5});
    CHECK(blocked(1, tokens, tokens) == Tokens{3, 4, 5});
    CHECK(blocked(2, tokens, {4, 6, 4, 7, 3, 1}) == Tokens{6, 7});
    CHECK(blocked(-1, tokens, tokens).empty());
    CHECK(blocked(3, {4}, {3, 4, 5}).empty());
}

TEST_CASE("a reply is cut at the longest length, also at the decoder's") {
    ToyDecoder decoder(1);
    GenerationOptions options = with(Inference::beam, 2);
    options.beam_min_length = 50;
    // END replaces the last token.
    CHECK(run(decoder, options)[0].tokens.size() == 11);
    decoder.limit = 7;
    const auto replies = run(decoder, options);
    CHECK(replies[0].tokens.size() == 6);
    CHECK(replies[1].tokens.size() == 11);  // its context leaves more room
}

TEST_CASE("a cut reply is that of the first hypothesis, without its last token") {
    ToyDecoder decoder(2);
    GenerationOptions options = with(Inference::topk, 3);
    options.topk = 4;
    options.beam_min_length = 50;
    const auto replies = run(decoder, options);
    const Tokens firsts{3, 4, 0};
    for (std::size_t c = 0; c < replies.size(); ++c) {
        // Sample 0 alone is a beam with one sample.
        GenerationOptions one = options;
        one.beam_size = 1;
        one.max_length = 13;
        const auto longer = run(decoder, one, {{firsts[c]}}, {static_cast<std::uint32_t>(10 + c)});
        CHECK(replies[c].tokens == Tokens(longer[0].tokens.begin(), longer[0].tokens.begin() + 11));
        CHECK(replies[c].tokens.size() == 11);
    }
}

TEST_CASE("ranked replies are sorted, and the first is the best") {
    int full = 0;  // the other searches reach max_length first
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        ToyDecoder decoder(seed);
        const GenerationOptions options = with(Inference::beam, 4);
        const auto best = run(decoder, options);
        const auto ranked = generate_ranked(decoder, {{3}, {4}, {0}}, {10, 11, 12}, options,
                                            {start_token, {end_token}});
        for (std::size_t c = 0; c < ranked.size(); ++c) {
            CHECK(ranked[c].front().tokens == best[c].tokens);
            CHECK(ranked[c].front().score == best[c].score);
            std::set<Tokens> different;
            for (std::size_t i = 0; i < ranked[c].size(); ++i) {
                different.insert(ranked[c][i].tokens);
                if (i > 0) CHECK(ranked[c][i - 1].score >= ranked[c][i].score);
            }
            CHECK(different.size() == ranked[c].size());
            full += ranked[c].size() >= 4 ? 1 : 0;
        }
    }
    CHECK(full > 40);
}

TEST_CASE("n-gram blocking sees whole contexts") {
    ToyDecoder decoder(1);
    GenerationOptions options = with(Inference::greedy, 1);
    options.beam_context_block_ngram = 1;
    const auto reply = [&](const std::vector<Tokens>& whole) {
        return generate(decoder, {{3, 0}}, {0}, options, {start_token, {end_token}}, whole)[0];
    };
    CHECK(std::ranges::count(reply({}).tokens, 4) > 0);
    CHECK(std::ranges::count(reply({{4, 3, 0}}).tokens, 4) == 0);
}

TEST_CASE("samples depend on seed and row, and on nothing else") {
    ToyDecoder decoder(3);
    GenerationOptions options = with(Inference::topk, 1);
    const std::vector<Tokens> same{{3}, {3}, {3}};
    const auto first = run(decoder, options, same, {5, 6, 7});
    const auto moved = run(decoder, options, {{3}, {3}}, {7, 5});
    CHECK(first[0].tokens == moved[1].tokens);
    CHECK(first[2].tokens == moved[0].tokens);
    std::set<Tokens> different;
    for (options.seed = 0; options.seed < 20; ++options.seed) {
        different.insert(run(decoder, options, {{3}}, {5})[0].tokens);
    }
    CHECK(different.size() > 5);
}

TEST_CASE("options out of range are refused by name") {
    const auto refused = [](const char* name, auto change) {
        ToyDecoder decoder(0);
        GenerationOptions options;
        change(options);
        try {
            run(decoder, options);
        } catch (const Error& e) {
            return e.kind() == ErrorKind::config &&
                   std::string(e.what()).find(name) != std::string::npos;
        }
        return false;
    };
    CHECK(refused("--beam-size", [](auto& o) { o.beam_size = 0; }));
    CHECK(refused("--inference beam", [](auto& o) { o.beam_size = 5; }));
    CHECK(refused("--topk", [](auto& o) { o.topk = 0; }));
    CHECK(refused("--topp", [](auto& o) { o.topp = 1.5; }));
    CHECK(refused("--temperature", [](auto& o) { o.temperature = 0; }));
    CHECK(refused("--max-length", [](auto& o) { o.max_length = 0; }));
}

TEST_CASE("any of several ends ends a reply, and none comes before the least length") {
    bool other = false;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        ToyDecoder decoder(seed);
        const Tokens one = run(decoder, with(Inference::greedy, 1), {{3}}, {0})[0].tokens;
        const auto of_two = [&](const GenerationOptions& options) {
            return generate(decoder, {{3}}, {0}, options, {start_token, {end_token, 4}})[0].tokens;
        };
        // The reply is the same up to the first of the ends.
        const Tokens cut(one.begin(), std::ranges::find(one, 4));
        CHECK(of_two(with(Inference::greedy, 1)) == cut);
        other = other || cut != one;
        GenerationOptions beam = with(Inference::beam, 2);
        beam.beam_min_length = 3;
        CHECK(of_two(beam).size() >= 3);
    }
    CHECK(other);
}

TEST_CASE("without START, the last token of a context is fed first") {
    class Recorder final : public IncrementalDecoder {
    public:
        std::vector<int> start(const std::vector<Tokens>& contexts, int, int most) override {
            read = contexts;
            return std::vector<int>(contexts.size(), most);
        }
        void step(const Tokens& slots, const Tokens& tokens, std::vector<float>& logits) override {
            fed.push_back(tokens);
            logits.assign(slots.size() * 3, 0);
            for (std::size_t i = 0; i < slots.size(); ++i) logits[3 * i + 2] = 1;
        }
        void reorder(const Tokens&) override {}
        std::int64_t vocabulary() const override { return 3; }
        model::Stacks stacks() const override { return model::Stacks::decoder; }
        int host_threads(std::int64_t) const override { return 1; }
        std::vector<Tokens> read, fed;
    };
    Recorder decoder;
    const auto replies = generate(decoder, {{5, 6, 7}, {8}}, {0, 1}, with(Inference::greedy, 1),
                                  {std::nullopt, {2}});
    CHECK(decoder.read == std::vector<Tokens>{{5, 6}, {}});
    CHECK(decoder.fed == std::vector<Tokens>{{7, 8}});
    CHECK(replies[0].tokens.empty());
    CHECK_THROWS_AS(generate(decoder, {{}}, {0}, with(Inference::greedy, 1), {std::nullopt, {2}}),
                    Error);
}

TEST_CASE("rows of the table without a token are never generated and keep their probability") {
    for (const auto inference : {Inference::greedy, Inference::topk, Inference::nucleus}) {
        int shorter = 0;
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            ToyDecoder decoder(seed);
            const GenerationOptions options = with(inference, 1);
            const auto all = generate(decoder, {{3}}, {0}, options, {start_token, {end_token}})[0];
            const auto known =
                generate(decoder, {{3}}, {0}, options, {start_token, {end_token}, 4})[0];
            CHECK(std::ranges::count(known.tokens, 4) == 0);
            if (std::ranges::count(all.tokens, 4) > 0) ++shorter;
            // A reply that has no such token anyway is as likely as before.
            else if (inference == Inference::greedy)
                CHECK(known.score == all.score);
        }
        CHECK(shorter > 0);
        CHECK(shorter < 20);
    }
}
