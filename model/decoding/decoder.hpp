// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/architectures.hpp"
#include "model/config.hpp"
#include "runtime/train/parameters.hpp"

namespace lockstep::model {

// Decodes step by step and keeps the keys and values of earlier tokens (a KV cache). A slot is one
// hypothesis; slot i belongs to context i / slots_per_context.
class IncrementalDecoder {
public:
    virtual ~IncrementalDecoder() = default;

    // Encodes the contexts. Afterwards every slot has seen its context and no other token. Returns
    // for each context the number of tokens, including START, that can then be fed to its slots:
    // max_new_tokens, or fewer if the model has fewer positions. The number depends only on that
    // context. A context that is too long loses its beginning.
    virtual std::vector<int> start(const std::vector<std::vector<std::int32_t>>& contexts,
                                   int slots_per_context, int max_new_tokens) = 0;

    // Feeds one token to each listed slot (each slot at most once) and writes the scores of the
    // following token, [slots.size(), vocabulary()]. The scores are logits: log-probabilities plus
    // a constant.
    virtual void step(const std::vector<std::int32_t>& slots,
                      const std::vector<std::int32_t>& tokens, std::vector<float>& logits) = 0;

    // Makes slot i continue the tokens of slot from[i]; both must belong to the same context.
    virtual void reorder(const std::vector<std::int32_t>& from) = 0;

    virtual std::int64_t vocabulary() const = 0;

    // Tells whether an encoder reads the contexts, or the decoder as the beginning of its text.
    virtual Stacks stacks() const = 0;

    // Returns the number of threads that may search so many scores on the host while the decoder
    // waits: one if it is done before others have woken.
    virtual int host_threads(std::int64_t scores) const = 0;
};

// Makes a decoder for a model of either kind, in the store's precision. The store must have been
// made with parameter_table(config) and hold the weights, as must `frozen`, with frozen_table(), if
// the model has adapters. Stores and context must outlive the decoder.
template <class Ctx>
std::unique_ptr<IncrementalDecoder> make_decoder(
    const ModelConfig& config, const train::ParameterStore<typename Ctx::Space>& store, Ctx& ctx,
    const train::ParameterStore<typename Ctx::Space>* frozen = nullptr);

}  // namespace lockstep::model
