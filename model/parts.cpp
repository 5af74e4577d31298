// SPDX-License-Identifier: Apache-2.0
#include "model/parts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace lockstep::model {

namespace {

struct VariantRow {
    Variant variant;
    Norms norms;
};

constexpr std::array<VariantRow, 4> rows{{
    {Variant::aiayn, {}},
    {Variant::prelayernorm, {.position = NormPosition::before_branch}},
    {Variant::xlm,
     {.encoder_embedding = EmbeddingNorm::after_positions,
      .decoder_embedding = EmbeddingNorm::before_positions}},
    {Variant::bart,
     {.encoder_embedding = EmbeddingNorm::after_positions,
      .decoder_embedding = EmbeddingNorm::after_positions}},
}};

}  // namespace

Norms norms(const ModelConfig& config) noexcept {
    return std::ranges::find(rows, config.variant, &VariantRow::variant)->norms;
}

EmbeddingNorm embedding_norm(const ModelConfig& config, StackKind stack) noexcept {
    const Norms all = norms(config);
    return stack == StackKind::encoder ? all.encoder_embedding : all.decoder_embedding;
}

Widths widths(const ModelConfig& config) noexcept {
    const LayerParts& parts = config.parts;
    return {config.heads, parts.kv_heads > 0 ? parts.kv_heads : config.heads,
            parts.head_dim > 0 ? parts.head_dim : config.embedding_size / config.heads};
}

Widths widths(const ModelConfig& config, const train::TensorSlice& slice) noexcept {
    Widths all = widths(config);
    all.heads /= slice.size;
    all.kv_heads = std::max<std::int64_t>(1, all.kv_heads / slice.size);
    return all;
}

namespace {

// Frequencies with long wavelengths shrink, those with short ones stay, and those between are
// mixed.
double llama3_frequency(const Rotary& r, double frequency) {
    const double turns = r.original_positions * frequency / (2 * std::numbers::pi);
    const double low = r.low_frequency_factor, high = r.high_frequency_factor;
    const double kept = std::clamp((turns - low) / (high - low), 0.0, 1.0);
    return (1 - kept) * frequency / r.factor + kept * frequency;
}

// Returns the number of the frequency that turns so often within the original positions; it is no
// whole number.
double turning(const Rotary& r, double width, double turns) {
    return width * std::log(r.original_positions / (turns * 2 * std::numbers::pi)) /
           (2 * std::log(static_cast<double>(r.theta)));
}

double yarn_frequency(const Rotary& r, double width, double frequency, double number) {
    double first = turning(r, width, r.beta_fast), last = turning(r, width, r.beta_slow);
    if (r.whole_bounds == Has::yes) first = std::floor(first), last = std::ceil(last);
    first = std::max(first, 0.0), last = std::min(last, width - 1);
    if (first == last) last += 0.001;
    const double shrunk = std::clamp((number - first) / (last - first), 0.0, 1.0);
    return shrunk * frequency / r.factor + (1 - shrunk) * frequency;
}

}  // namespace

std::vector<float> rotary_frequencies(const ModelConfig& config) {
    if (config.positions != Positions::rotary) return {};
    const Rotary& r = config.parts.rotary;
    const std::int64_t count = widths(config).head_dim / 2;
    const double width = 2 * static_cast<double>(count);
    std::vector<float> frequencies;
    for (std::int64_t i = 0; i < count; ++i) {
        const auto number = static_cast<double>(i);
        double frequency = std::pow(static_cast<double>(r.theta), -2 * number / width);
        if (r.scaling == RotaryScaling::linear) frequency /= r.factor;
        if (r.scaling == RotaryScaling::llama3) frequency = llama3_frequency(r, frequency);
        if (r.scaling == RotaryScaling::yarn)
            frequency = yarn_frequency(r, width, frequency, number);
        frequencies.push_back(static_cast<float>(frequency));
    }
    return frequencies;
}

}  // namespace lockstep::model
