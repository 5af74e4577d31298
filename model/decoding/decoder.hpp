// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/config.hpp"
#include "runtime/train/parameters.hpp"

namespace lockstep::model {

// Decodes step by step and keeps what it has seen (a KV cache). A slot is one hypothesis;
// slot i belongs to context i / slots_per_context.
class IncrementalDecoder {
public:
    virtual ~IncrementalDecoder() = default;

    // Encodes the contexts; afterwards every slot has seen its context and no token. Returns for
    // each context how many tokens, the START token among them, can then be fed to its slots:
    // max_new_tokens, or fewer where the model has fewer positions. It depends on that context
    // alone. Of a context that is too long the end is kept.
    virtual std::vector<int> start(const std::vector<std::vector<std::int32_t>>& contexts,
                                   int slots_per_context, int max_new_tokens) = 0;

    // Feeds one token to each listed slot (each at most once) and writes the scores of the token
    // after it, [slots.size(), vocabulary()]: logits, that is log-probabilities up to a constant.
    virtual void step(const std::vector<std::int32_t>& slots,
                      const std::vector<std::int32_t>& tokens, std::vector<float>& logits) = 0;

    // Slot i continues what slot from[i] has seen; both belong to the same context.
    virtual void reorder(const std::vector<std::int32_t>& from) = 0;

    virtual std::int64_t vocabulary() const = 0;
};

// Decodes with a model of either kind, in the store's precision. The store was built with
// parameter_table(config) and holds the weights; store and context outlive the decoder.
template <class Ctx>
std::unique_ptr<IncrementalDecoder> make_decoder(
    const ModelConfig& config, const train::ParameterStore<typename Ctx::Space>& store, Ctx& ctx);

}  // namespace lockstep::model
