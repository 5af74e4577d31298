// SPDX-License-Identifier: Apache-2.0
#include "model/decoding/decoder.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "model/architectures.hpp"
#include "model/blocks/layout.hpp"
#include "model/decoding/generation.hpp"
#include "model/decoding/sampling.hpp"
#include "model/devices/model.hpp"
#include "model/devices/model_store.hpp"
#include "model/initialize.hpp"
#include "runtime/core/philox.hpp"
#include "tests/support/summed_losses.hpp"

using namespace lockstep;
using namespace lockstep::model;

namespace {

using Tokens = std::vector<std::int32_t>;

constexpr std::int32_t start_token = 1, end_token = 2;
constexpr std::uint64_t seed = 2;  // of weights by which more than two replies end

ModelConfig config_of(Kind kind, Variant variant) {
    ModelConfig c;
    c.kind = kind;
    c.variant = variant;
    c.vocabulary = 13;
    c.embedding_size = 12;
    c.ffn_size = 20;
    c.heads = 3;
    c.encoder_layers = 2;
    c.decoder_layers = 2;
    c.n_positions = 24;
    if (kind == Kind::gpt2) {
        c.positions = Positions::learned;
        c.embedding_scale = EmbeddingScale::none;
        c.activation = kernels::Activation::gelu_tanh;
    }
    return c;
}

// A model with weights large enough for its predictions to differ from token to token.
struct Trained {
    Trained(const ModelConfig& c, train::Precision precision)
        : config(c), table(parameter_table(c)), store(table, precision), ctx(2) {
        model = make_model<device::CpuContext>(config, store, ctx);
        initial_weights(table, 7, store.master());
        PhiloxStream random(seed);
        for (const train::Parameter& p : table.all())
            for (float& w : store.master().subview(p.offset, p.count))
                w += static_cast<float>(random.uniform() - 0.5);
        if (precision == train::Precision::bf16) {
            const auto compute = store.compute<bf16>();
            for (std::size_t i = 0; i < compute.size(); ++i) compute[i] = bf16(store.master()[i]);
        }
        decoder = make_decoder<device::CpuContext>(config, store, ctx);
    }

    // Returns log p(last token of `reply` | context, START, previous tokens), calculated by the
    // whole model at once.
    double log_prob(const Tokens& context, const Tokens& reply) {
        train::Batch batch;
        batch.rows = {0};
        const bool one_side = !has_encoder(config);
        Tokens target = one_side ? context : Tokens{};
        target.push_back(start_token);
        target.insert(target.end(), reply.begin(), reply.end() - 1);
        batch.target = side(target);
        batch.source = side(one_side ? Tokens{} : context);
        batch.labels.assign(target.size(), -1);
        batch.labels.back() = reply.back();
        batch.label_tokens = 1;
        return -tests::evaluated(*model, batch).nll;
    }
    static train::RaggedTokens side(const Tokens& tokens) {
        train::RaggedTokens s;
        s.tokens = tokens;
        s.offsets = {0, static_cast<std::int32_t>(tokens.size())};
        s.longest = s.offsets.back();
        return s;
    }

    ModelConfig config;
    train::ParameterTable table;
    train::ParameterStore<HostSpace> store;
    device::CpuContext ctx;
    std::unique_ptr<train::ForwardBackward> model;
    std::unique_ptr<IncrementalDecoder> decoder;
};

const std::vector<Tokens> contexts{{3, 4, 5, 6, 7}, {8}, {9, 10, 3, 3, 12, 11, 4, 9}};

// Uses three slots for each context, which all diverge: feeds `words`, swaps hypotheses now and
// then, and compares every score with the model that sees everything at once.
void check_steps(Trained& t, double tolerance) {
    constexpr int width = 3, steps = 9;
    REQUIRE(t.decoder->start(contexts, width, steps) == std::vector<int>(contexts.size(), steps));
    const auto count = static_cast<std::int32_t>(contexts.size()) * width;
    PhiloxStream random(11);
    std::vector<Tokens> fed(count);
    double worst = 0;
    for (int step = 0; step < steps; ++step) {
        Tokens slots, tokens;
        for (std::int32_t s = 0; s < count; ++s) {
            if (step > 1 && s % 4 == 1) continue;  // some slots wait
            slots.push_back(s);
            tokens.push_back(fed[s].empty() ? start_token
                                            : static_cast<std::int32_t>(3 + random.below(10)));
            fed[s].push_back(tokens.back());
        }
        std::vector<float> logits;
        t.decoder->step(slots, tokens, logits);
        const std::int64_t v = t.decoder->vocabulary();
        REQUIRE(logits.size() == slots.size() * v);
        for (std::size_t i = 0; i < slots.size(); ++i) {
            const std::span<float> row(logits.data() + i * v, v);
            normalise(row, 1, -1);
            Tokens reply(fed[slots[i]].begin() + 1, fed[slots[i]].end());
            reply.push_back(static_cast<std::int32_t>(random.below(13)));
            const double expected = t.log_prob(contexts[slots[i] / width], reply);
            worst = std::max(worst, std::abs(row[reply.back()] - expected));
        }
        // Context 0 gets two copies of its last hypothesis, context 1 is rotated, and context 2
        // stays as it is.
        t.decoder->reorder({2, 1, 2, 4, 5, 3, 6, 7, 8});
        fed = {fed[2], fed[1], fed[2], fed[4], fed[5], fed[3], fed[6], fed[7], fed[8]};
    }
    CHECK(worst < tolerance);
}

}  // namespace

TEST_CASE("step by step the scores are those of the whole model") {
    for (const Variant variant : {Variant::aiayn, Variant::prelayernorm, Variant::xlm}) {
        Trained generator(config_of(Kind::generator, variant), train::Precision::fp32);
        check_steps(generator, 2e-5);
    }
    Trained gpt2(config_of(Kind::gpt2, Variant::prelayernorm), train::Precision::fp32);
    check_steps(gpt2, 2e-5);
}

TEST_CASE("so they are with norms of heads, shared keys, rotary positions and a window") {
    ModelConfig config = config_of(Kind::qwen3, Variant::prelayernorm);
    apply_fixed(config);
    config.heads = 4;
    config.parts.kv_heads = 2;
    config.parts.head_dim = 6;
    Trained whole(config, train::Precision::fp32);
    check_steps(whole, 2e-5);
    config.parts.window = 5;
    Trained windowed(config, train::Precision::fp32);
    check_steps(windowed, 2e-5);
    config.kind = Kind::qwen2;
    config.parts.head_norms = Has::no;
    config.parts.qkv_bias = Has::yes;
    config.parts.own_head = Has::no;
    Trained biased(config, train::Precision::fp32);
    check_steps(biased, 2e-5);
}

TEST_CASE("and in bf16 but for rounding") {
    Trained generator(config_of(Kind::generator, Variant::aiayn), train::Precision::bf16);
    check_steps(generator, 0.2);
    Trained gpt2(config_of(Kind::gpt2, Variant::prelayernorm), train::Precision::bf16);
    check_steps(gpt2, 0.2);
}

TEST_CASE("a reply's score is the sum of the whole model's log-probabilities") {
    int compared = 0;
    for (const Kind kind : {Kind::generator, Kind::gpt2}) {
        Trained t(config_of(kind, kind == Kind::gpt2 ? Variant::prelayernorm : Variant::aiayn),
                  train::Precision::fp32);
        GenerationOptions options;
        options.inference = Inference::beam;
        options.beam_size = 4;
        options.beam_length_penalty = 0;
        options.max_length = 8;
        const auto replies =
            generate(*t.decoder, contexts, {0, 1, 2}, options, {start_token, {end_token}});
        for (std::size_t c = 0; c < contexts.size(); ++c) {
            Tokens reply = replies[c].tokens;
            if (reply.size() == 7) continue;  // may be cut: its last token is then unknown
            reply.push_back(end_token);
            ++compared;
            double sum = 0;
            for (std::size_t n = 1; n <= reply.size(); ++n) {
                const Tokens part(reply.begin(), reply.begin() + n);
                Tokens never = part;
                never.back() = start_token;  // its probability goes to the others
                sum += t.log_prob(contexts[c], part) -
                       std::log1p(-std::exp(t.log_prob(contexts[c], never)));
            }
            CHECK(replies[c].score == doctest::Approx(sum).epsilon(1e-4));
        }
    }
    CHECK(compared > 2);
}

TEST_CASE("what exceeds the model's positions") {
    const Tokens longest(40, 5), end(12, 5);
    std::vector<float> logits, shorter;

    Trained gpt2(config_of(Kind::gpt2, Variant::prelayernorm), train::Precision::fp32);
    using Counts = std::vector<int>;
    CHECK(gpt2.decoder->start({{5, 5}}, 1, 100) == Counts{22});
    CHECK(gpt2.decoder->start({{5, 5}, longest}, 1, 100) == Counts{22, 12});  // half for each
    CHECK(gpt2.decoder->start({longest}, 1, 100) == Counts{12});
    gpt2.decoder->step({0}, {start_token}, logits);
    CHECK(gpt2.decoder->start({end}, 1, 12) == Counts{12});
    gpt2.decoder->step({0}, {start_token}, shorter);
    CHECK(logits == shorter);

    Trained generator(config_of(Kind::generator, Variant::aiayn), train::Precision::fp32);
    CHECK(generator.decoder->start({longest, {5}}, 2, 100) == Counts{24, 24});
    for (int i = 0; i < 24; ++i) generator.decoder->step({0, 3}, {5, 6}, logits);
    CHECK_THROWS_AS(generator.decoder->step({0}, {5}, logits), Error);
}

TEST_CASE("contexts may be empty") {
    for (const Kind kind : {Kind::generator, Kind::gpt2}) {
        Trained t(config_of(kind, kind == Kind::gpt2 ? Variant::prelayernorm : Variant::aiayn),
                  train::Precision::fp32);
        std::vector<float> logits;
        t.decoder->start({{}}, 2, 4);
        t.decoder->step({0, 1}, {start_token, start_token}, logits);
        for (const float x : logits) CHECK(std::isfinite(x));
    }
}

TEST_CASE("a model that is only evaluated has no memory for gradients, and the same losses") {
    const ModelConfig config = config_of(Kind::gpt2, Variant::prelayernorm);
    const train::ReplicaShare evaluated{.gradients = train::Gradients::none};
    const auto store =
        make_store<HostSpace>(config, train::Precision::fp32, train::Master::kept, evaluated);
    CHECK(store.gradient().size() == 0);
    CHECK(store.master().size() > 0);

    train::Batch batch;
    batch.rows = {0};
    batch.target = Trained::side({start_token, 5, 6, 7});
    batch.source = Trained::side({});
    batch.labels = {5, 6, 7, end_token};
    batch.label_tokens = 4;
    const auto losses = [&](const train::ReplicaShare& share) {
        const auto model = make_cpu_model(config, train::Precision::fp32, 1, {}, share);
        model->initialize(seed);
        std::vector<double> found;
        for (const kernels::LossSums& row : model->evaluate(batch)) found.push_back(row.nll);
        return found;
    };
    CHECK(losses(evaluated) == losses({}));
}
