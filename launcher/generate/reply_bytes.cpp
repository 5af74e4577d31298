// SPDX-License-Identifier: Apache-2.0
#include "launcher/generate/reply_bytes.hpp"

#include <algorithm>

#include "model/architectures.hpp"
#include "model/parts.hpp"

namespace lockstep::launcher {

PromptBytes reply_bytes(const model::ModelConfig& model, train::Precision precision,
                        const model::GenerationOptions& options, std::int64_t longest,
                        const std::vector<std::vector<std::int32_t>>& contexts) {
    const bool encodes = model::has_encoder(model);
    const std::int64_t hypotheses = options.beam_size, max_length = options.max_length;
    std::int64_t tokens = 0, new_tokens = 0;
    for (const auto& context : contexts) {
        std::int64_t seen = std::min(std::ssize(context), model.n_positions);
        if (longest > 0) seen = std::min(seen, longest);
        tokens += encodes ? seen : seen * hypotheses;
        new_tokens += std::min(max_length, model.n_positions - (encodes ? 0 : seen)) * hypotheses;
    }
    const std::int64_t number_bytes = precision == train::Precision::fp32 ? 4 : 2;
    const std::int64_t token_bytes =
        model.decoder_layers * model::widths(model).key_value() * number_bytes;
    const std::int64_t score_bytes =
        std::ssize(contexts) * model.vocabulary * static_cast<std::int64_t>(sizeof(float));
    return {tokens * token_bytes + score_bytes,
            (tokens + new_tokens) * token_bytes + score_bytes * hypotheses};
}

}  // namespace lockstep::launcher
