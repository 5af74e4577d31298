// SPDX-License-Identifier: Apache-2.0
#include "model/decoding/generation.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "model/decoding/beam.hpp"
#include "model/decoding/ngram_blocking.hpp"
#include "model/decoding/sampling.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/philox.hpp"

using namespace lockstep;
using namespace lockstep::model;

namespace {

using Tokens = std::vector<std::int32_t>;

constexpr std::int32_t start_token = 1, end_token = 2;
constexpr int vocabulary = 5;  // 0, 3 and 4 are words

// Scores depend on the last two tokens and on the first token of the context: enough to reveal
// wrong reordering and mixed-up contexts.
class ToyDecoder final : public IncrementalDecoder {
public:
    explicit ToyDecoder(std::uint64_t seed) : seed_(seed) {}

    std::vector<int> start(const std::vector<Tokens>& contexts, int slots_per_context,
                           int most) override {
        seen_.clear();
        std::vector<int> steps;
        for (const Tokens& context : contexts) {
            steps.push_back(std::min(most, context.front() == 4 ? limit_of_4 : limit));
            for (int i = 0; i < slots_per_context; ++i) seen_.push_back({context.front(), 0});
        }
        return steps;
    }
    void step(const Tokens& slots, const Tokens& tokens, std::vector<float>& logits) override {
        logits.clear();
        for (std::size_t i = 0; i < slots.size(); ++i) {
            Tokens& seen = seen_.at(slots[i]);
            seen.push_back(tokens[i]);
            const auto scores = scores_after(seen);
            logits.insert(logits.end(), scores.begin(), scores.end());
        }
    }
    void reorder(const Tokens& from) override {
        const auto before = seen_;
        for (std::size_t i = 0; i < from.size(); ++i) seen_[i] = before.at(from[i]);
    }
    std::int64_t vocabulary() const override { return ::vocabulary; }

    // Returns logits, which are not normalised. The START token is likely.
    std::vector<float> scores_after(const Tokens& seen) const {
        const std::size_t n = seen.size();
        const std::int32_t state = (seen[0] * 10 + seen[n - 2]) * 10 + seen[n - 1];
        PhiloxStream random(mix(seed_, state));
        std::vector<float> x(::vocabulary);
        for (float& v : x) v = static_cast<float>(4 * random.uniform());
        x[start_token] += 2;
        return x;
    }

    int limit = 1000, limit_of_4 = 1000;

private:
    std::uint64_t seed_;
    std::vector<Tokens> seen_;
};

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

GenerationOptions with(Inference inference, int beam_size) {
    GenerationOptions o;
    o.inference = inference;
    o.beam_size = beam_size;
    o.max_length = 12;
    return o;
}

std::vector<Hypothesis> run(ToyDecoder& decoder, const GenerationOptions& options,
                            const std::vector<Tokens>& contexts = {{3}, {4}, {0}},
                            const std::vector<std::uint32_t>& rows = {10, 11, 12}) {
    return generate(decoder, contexts, rows, options, {start_token, end_token});
}

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
        return generate(decoder, contexts, {0}, options, {start_token, end_token}, whole)[0].tokens;
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
                                            {start_token, end_token});
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
        return generate(decoder, {{3, 0}}, {0}, options, {start_token, end_token}, whole)[0];
    };
    CHECK(std::ranges::count(reply({}).tokens, 4) > 0);
    CHECK(std::ranges::count(reply({{4, 3, 0}}).tokens, 4) == 0);
}

TEST_CASE("top-k and nucleus draw from their set only, in proportion") {
    std::vector<float> log_probs{std::log(0.1f), std::log(0.4f), std::log(0.2f), std::log(0.3f)};
    std::map<std::int32_t, int> topk, nucleus;
    constexpr int draws = 20000;
    for (int i = 0; i < draws; ++i) {
        const double number = (i + 0.5) / draws;
        const Choice a = sample_topk(log_probs, 2, number);
        const Choice b = sample_nucleus(log_probs, 0.75, number);
        CHECK(a.log_prob == doctest::Approx(log_probs[a.token]));
        CHECK(b.log_prob == doctest::Approx(log_probs[b.token] - std::log(0.9)));
        ++topk[a.token];
        ++nucleus[b.token];
    }
    CHECK(topk.size() == 2);
    CHECK(topk[1] == doctest::Approx(draws * 4 / 7.0).epsilon(1e-3));
    CHECK(nucleus.size() == 3);  // 0.4 and 0.3 are still less than 0.75
    CHECK(nucleus[2] == doctest::Approx(draws * 2 / 9.0).epsilon(1e-3));
    CHECK(sample_nucleus(log_probs, 1e-9, 0.99).token == 1);

    // There are more entries than are sorted at first. Token t has rank t * 37 % 1000, and the
    // ranks from 620 on have the upper half of the probability.
    std::vector<float> many(1000);
    for (int t = 0; t < 1000; ++t) many[t] = static_cast<float>(t * 37 % 1000) * 1e-3f;
    normalise(many, 1, -1);
    int lowest = 1000;
    for (int i = 0; i < 2000; ++i) {
        lowest = std::min(lowest, sample_nucleus(many, 0.5, i / 2000.0).token * 37 % 1000);
    }
    CHECK(lowest == 620);
}

TEST_CASE("temperature sharpens and flattens, and what may never come does not") {
    std::vector<float> cold{1, 2, 3}, hot = cold;
    normalise(cold, 0.5, 2);
    normalise(hot, 100, -1);
    CHECK(std::isinf(cold[2]));
    CHECK(cold[1] == doctest::Approx(-std::log(1 + std::exp(-2.0))));
    std::vector<float> broken{std::nanf(""), 1, 1};
    normalise(broken, 1, -1);
    CHECK(std::isinf(broken[0]));
    CHECK(broken[1] == doctest::Approx(std::log(0.5)));
    for (const double temperature : {1.0, 0.5, 1e-30}) {
        std::vector<float> infinite{1, std::numeric_limits<float>::infinity(), 0};
        normalise(infinite, temperature, -1);
        CHECK(infinite[1] == -std::numeric_limits<float>::infinity());
        CHECK(infinite[0] == doctest::Approx(-std::log(1 + std::exp(-1 / temperature))));
    }
    CHECK(hot[0] == doctest::Approx(std::log(1 / 3.0)).epsilon(0.02));
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

namespace {

// Returns the best `width` of all continuations, by sorting them.
std::vector<std::size_t> sorted_best(const std::vector<double>& totals, std::size_t width) {
    std::vector<std::size_t> order(totals.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](auto a, auto b) { return totals[a] > totals[b]; });
    order.resize(width);
    return order;
}

}  // namespace

TEST_CASE("the search keeps the likeliest continuations of a large vocabulary, ties in order") {
    GenerationOptions options;
    options.inference = Inference::beam;
    options.beam_size = 3;
    options.beam_min_length = 9;  // so END is impossible in the eight steps
    const Tokens context;
    for (const std::size_t words : {std::size_t{64}, std::size_t{65}, std::size_t{1000}}) {
        Search search(options, SpecialTokens{}, context, 0, 20);
        std::vector<double> scores{0};
        for (std::size_t step = 0; step < 8; ++step) {
            std::vector<float> log_probs;
            std::vector<double> totals;
            for (std::size_t j = 0; j < scores.size() * words; ++j) {
                // Many are equal.
                log_probs.push_back(-static_cast<float>(1 + (j + step) * 7919 % 23));
                if (j % words == end_token)
                    totals.push_back(-std::numeric_limits<double>::infinity());
                else
                    totals.push_back(scores[j / words] + double{log_probs.back()});
            }
            const auto best = sorted_best(totals, 3);
            const auto moves = search.advance(log_probs, static_cast<std::int64_t>(words));
            REQUIRE(moves.size() == 3);
            scores.clear();
            for (std::size_t i = 0; i < 3; ++i) {
                CHECK(moves[i].from == static_cast<int>(best[i] / words));
                CHECK(moves[i].token == static_cast<std::int32_t>(best[i] % words));
                scores.push_back(totals[best[i]]);
            }
        }
    }
}
