// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/train/toy_model.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep::tests {
namespace {

constexpr auto vocabulary = ToyModel::vocabulary;
constexpr auto columns = static_cast<std::size_t>(vocabulary);

std::size_t at(std::int64_t row, std::int64_t column) {
    return static_cast<std::size_t>(row * vocabulary + column);
}

}  // namespace

struct ToyModel::Token {
    std::int32_t token, position, label;
    std::uint32_t row;
};

// Returns the tokens without filler, which has no label.
std::vector<ToyModel::Token> ToyModel::tokens_of(const train::Batch& batch) {
    const train::RaggedTokens& side = batch.target;
    std::vector<Token> tokens;
    for (std::size_t s = 0; s < batch.rows.size(); ++s)
        for (std::int32_t i = side.offsets[s]; i < side.offsets[s + 1]; ++i)
            tokens.push_back({side.tokens[static_cast<std::size_t>(i)], i - side.offsets[s],
                              batch.labels[static_cast<std::size_t>(i)], batch.rows[s]});
    return tokens;
}

train::ParameterTable ToyModel::make_table() {
    train::ParameterTable table;
    for (int block = 0; block < bias_blocks; ++block)
        table.add("bias." + std::to_string(block), {vocabulary}, block, train::WeightDecay::skip);
    table.add({.name = "table",
               .shape = {vocabulary, vocabulary},
               .block = bias_blocks,
               .tied = train::Tied::yes,
               .hidden = train::Hidden::yes});  // so that muon has a matrix
    return table;
}

void ToyModel::initialize(std::uint64_t seed) {
    PhiloxStream random(seed);
    const auto weights = !store_.has_packed_master()               ? store_.master()
                         : store_.gradient_placement().has_slots() ? store_.whole_weights()
                                                                   : store_.gradient();
    for (const train::Parameter& parameter : table_.all())
        for (float& weight : weights.subview(parameter.offset, parameter.count))
            weight = static_cast<float>(random.uniform() - 0.5);
}

void ToyModel::read(train::WeightSource& weights) {
    read_.assign(table_.flat_size(), 0);
    for (std::size_t p = table_.all().size(); p-- > 0;) {
        const train::Parameter& parameter = table_[p];
        weights.need(parameter.offset);
        with_element(Types<float, bf16>{}, store_.precision(), [&]<class T>() {
            const auto values = store_.compute<T>(parameter.offset, parameter.count);
            std::ranges::transform(values, &read_[parameter.offset],
                                   [](T value) { return static_cast<float>(value); });
        });
    }
}

bool ToyModel::dropped(const Token& token, std::int64_t column,
                       const kernels::StepState* state) const {
    if (options_.dropout <= 0 || state == nullptr) return false;
    const auto words = philox({0, token.row, static_cast<std::uint32_t>(token.position),
                               static_cast<std::uint32_t>(column / 4)},
                              mix(state->seed, state->step));
    return static_cast<double>(words[static_cast<std::size_t>(column % 4)]) <
           static_cast<double>(options_.dropout) * 0x1p32;
}

// Writes d(loss)/d(logits) to `slopes`, a row for each token.
kernels::LossSums ToyModel::forward(const train::Batch& batch, const kernels::StepState* state,
                                    std::vector<double>& slopes) const {
    kernels::LossSums sums;
    const std::size_t table = table_[bias_blocks].offset;
    slopes.assign(static_cast<std::size_t>(batch.target.total()) * columns, 0);
    const std::vector<Token> tokens = tokens_of(batch);
    for (std::size_t t = 0; t < tokens.size(); ++t) {
        const Token& token = tokens[t];
        if (token.label < 0) continue;
        double* logits = slopes.data() + t * columns;
        double sum = 0, largest = -1e30;
        for (std::int64_t c = 0; c < vocabulary; ++c) {
            if (!dropped(token, c, state)) logits[c] = weight(table + at(token.token, c));
            for (int block = 0; block < bias_blocks; ++block)
                logits[c] += (block + 1) * weight(table_[static_cast<std::size_t>(block)].offset +
                                                  static_cast<std::size_t>(c));
            largest = std::max(largest, logits[c]);
        }
        const auto guess = std::max_element(logits, logits + vocabulary) - logits;
        const double label_logit = logits[token.label];
        for (std::int64_t c = 0; c < vocabulary; ++c) sum += std::exp(logits[c] - largest);
        for (std::int64_t c = 0; c < vocabulary; ++c)
            logits[c] = std::exp(logits[c] - largest) / sum - (c == token.label ? 1 : 0);
        const double loss = largest + std::log(sum) - label_logit;
        sums += {loss, loss, 1, guess == token.label ? 1.0 : 0.0};
    }
    return sums;
}

void ToyModel::train(const kernels::StepState* state, kernels::LossSums* sums, kernels::Into into,
                     train::GradientSink& sink) {
    const train::Batch& batch = *batch_;
    std::vector<double> slopes;
    read(sink);
    *sums += forward(batch, state, slopes);
    const std::vector<Token> tokens = tokens_of(batch);
    const double seed = static_cast<double>(state->loss_seed);
    const auto& parameters = table_.all();
    sink.begin_backward();
    for (std::size_t p = 0; p < parameters.size(); ++p) {
        sink.need(parameters[p].offset);
        float* to = store_.gradient(parameters[p].offset, parameters[p].count).data();
        if (into == kernels::Into::overwrite) std::fill_n(to, parameters[p].count, 0.0f);
        const bool bias = p < static_cast<std::size_t>(bias_blocks);
        for (std::size_t t = 0; t < tokens.size(); ++t)
            for (std::int64_t c = 0; c < vocabulary; ++c) {
                const double slope = seed * slopes[t * columns + static_cast<std::size_t>(c)];
                const Token& token = tokens[t];
                if (bias)
                    to[c] += static_cast<float>(slope * static_cast<double>(p + 1));
                else if (!dropped(token, c, state))
                    to[at(token.token, c)] += static_cast<float>(slope);
            }
        const std::size_t end =
            p + 1 < parameters.size() ? parameters[p + 1].offset : table_.flat_size();
        sink.ready(parameters[p].offset, end - parameters[p].offset);
    }
}

// No test needs the losses of single tokens, so the first token has the sum of all.
void ToyModel::evaluate(const train::Batch& batch, kernels::LossSums* losses,
                        train::WeightSource& weights) {
    read(weights);
    std::vector<double> slopes;
    std::fill_n(losses, batch.target.tokens.size(), kernels::LossSums{});
    losses[0] = forward(batch, nullptr, slopes);
}

}  // namespace lockstep::tests
