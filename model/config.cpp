// SPDX-License-Identifier: Apache-2.0
#include "model/config.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <limits>

#include "model/architectures.hpp"
#include "model/dropout_sites.hpp"
#include "model/lora_modules.hpp"
#include "model/parts.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::model {

namespace {

// Larger sizes are from damaged files. Products of two of them do not overflow, nor does the number
// of weights in 2 x 4096 layers.
constexpr std::int64_t max_width = std::int64_t{1} << 20;
constexpr std::int64_t max_positions = std::int64_t{1} << 20;
constexpr std::int64_t max_vocabulary = std::int64_t{1} << 28;

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::config, what); }

// Returns the number as a person writes it.
std::string plain(float value) {
    constexpr int digits = 6;
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                   std::chars_format::general, digits);
    return {text.data(), end.ptr};
}

void at_least_one(const char* option, std::int64_t value) {
    if (value < 1) {
        refuse(std::string(option) + " " + std::to_string(value) + ": give at least 1");
    }
}

void at_most(const char* option, std::int64_t value, std::int64_t most) {
    if (value > most) {
        refuse(std::string(option) + " " + std::to_string(value) + ": give at most " +
               std::to_string(most));
    }
}

void share(const char* option, float value) {
    if (!(value >= 0 && value < 1)) {
        refuse(std::string(option) + " " + plain(value) + ": give a share from 0 to below 1");
    }
}

void validate_sizes(const ModelConfig& c) {
    at_least_one("--embedding-size", c.embedding_size);
    at_least_one("--ffn-size", c.ffn_size);
    at_least_one("--n-heads", c.heads);
    at_least_one("--n-positions", c.n_positions);
    at_least_one("--n-decoder-layers", c.decoder_layers);
    at_most("--n-decoder-layers", c.decoder_layers, max_layers);
    at_most("--n-heads", c.heads, max_heads);
    at_most("--embedding-size", c.embedding_size, max_width);
    at_most("--ffn-size", c.ffn_size, max_width);
    at_most("--n-positions", c.n_positions, max_positions);
    if (has_encoder(c)) {
        at_least_one("--n-encoder-layers", c.encoder_layers);
        at_most("--n-encoder-layers", c.encoder_layers, max_layers);
    }
    if (c.vocabulary < 1) refuse("the model has no vocabulary: prepare a dictionary first");
    at_most("a vocabulary of", c.vocabulary, max_vocabulary);
    if (c.parts.head_dim == 0 && c.embedding_size % c.heads != 0) {
        refuse("--embedding-size " + std::to_string(c.embedding_size) +
               " is not a multiple of --n-heads " + std::to_string(c.heads) +
               ": give sizes that divide");
    }
}

void validate_heads(const ModelConfig& c) {
    const Widths all = widths(c);
    at_most("heads of a width of", all.head_dim, max_width);
    if (all.kv_heads < 1 || c.heads % all.kv_heads != 0)
        refuse("--n-heads " + std::to_string(c.heads) + " is not a multiple of the " +
               std::to_string(c.parts.kv_heads) + " heads of keys and values (--n-kv-heads)");
    if (c.positions == Positions::rotary && all.head_dim % 2 != 0)
        refuse("heads of " + std::to_string(all.head_dim) +
               " columns: rotary positions turn pairs of columns; give an even width");
}

void validate_parts(const ModelConfig& c) {
    validate_heads(c);
    if (!(c.parts.norm_epsilon > 0 && c.parts.norm_epsilon < 1))
        refuse("a norm's epsilon of " + plain(c.parts.norm_epsilon) +
               " (--norm-epsilon): it is above 0 and below 1");
    if (c.parts.window < 0) refuse("a window of less than one token");
    at_most("a window of", c.parts.window, std::numeric_limits<std::int32_t>::max());
    if (c.parts.gate == Has::yes && c.relu_dropout > 0)
        refuse("--relu-dropout: " + std::string(architecture(c.kind).name) +
               " drops nothing behind its activation; leave it out");
    const Rotary& r = c.parts.rotary;
    if (c.positions != Positions::rotary) return;
    const bool scaled = r.scaling != RotaryScaling::none;
    if (!(r.theta > 1) || (scaled && !(r.factor >= 1)))
        refuse("rotary positions with theta " + plain(r.theta) + " (--rope-theta) and factor " +
               plain(r.factor) + ": theta is above 1, a factor at least 1");
    if (r.scaling == RotaryScaling::llama3 && !(r.high_frequency_factor > r.low_frequency_factor))
        refuse("rotary positions whose high_freq_factor is not above their low_freq_factor");
}

void validate_gpt2(const ModelConfig& c) {
    if (c.variant != Variant::prelayernorm) {
        refuse("--model gpt2 is always pre-norm: leave --variant out");
    }
    if (c.positions != Positions::learned) {
        refuse("--model gpt2 always learns its positions: leave --learn-positional-embeddings out");
    }
    if (c.embedding_scale != EmbeddingScale::none) {
        refuse("--model gpt2 never scales its embeddings: leave --embeddings-scale out");
    }
}

}  // namespace

ModelConfig gpt2_config() {
    ModelConfig config;
    config.kind = Kind::gpt2;
    apply_fixed(config);
    config.encoder_layers = 0;
    return config;
}

void validate(const ModelConfig& config) {
    validate_sizes(config);
    validate_parts(config);
    if (config.kind == Kind::gpt2) validate_gpt2(config);
    validate_lora(config);
    share("--dropout", config.dropout);
    share("--attention-dropout", config.attention_dropout);
    share("--relu-dropout", config.relu_dropout);
    share("--label-smoothing", config.label_smoothing);
    if (!(config.z_loss >= 0 && config.z_loss < 1))
        refuse("--z-loss " + plain(config.z_loss) +
               ": give a number from 0 to below 1, such as 1e-4");
    if (config.excluded_token >= config.vocabulary)
        refuse("excluded_token is not in the vocabulary");
    if (config.excluded_token >= 0 && config.label_smoothing > 0) {
        refuse(
            "--label-smoothing gives each token a share, but this model excludes one (its "
            "config.json has excluded_token): leave --label-smoothing out");
    }
}

NormPosition norm_position(const ModelConfig& config) noexcept { return norms(config).position; }

}  // namespace lockstep::model
