// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/batching/batching_options.hpp"
#include "data/tokenizers/tokenizer.hpp"
#include "launcher/generate/stop_texts.hpp"
#include "launcher/options/run_config.hpp"
#include "model/decoding/decoder.hpp"
#include "model/decoding/generation.hpp"
#include "runtime/batch/batch.hpp"

namespace lockstep::launcher {

// Returns the token ids that replies are generated from, one vector for each row of a batch.
std::vector<std::vector<std::int32_t>> contexts_of(const train::Batch& batch, data::Layout layout,
                                                   const data::SpecialTokens& special);

// Returns the options for generation. The maximum length of a reply is --max-length; otherwise it
// is ParlAI's: the label truncation, or 256 tokens without one.
model::GenerationOptions reply_options(const RunConfig& config);

struct Reply {
    std::string text;
    double score = 0;
    std::size_t tokens = 0;  // that were generated, without the end token
};

// Generates a reply's text from a prompt's tokens.
class ReplyGenerator {
public:
    // Decoder and tokenizer must outlive the generator.
    ReplyGenerator(model::IncrementalDecoder& decoder, const data::Tokenizer& tokenizer,
                   const model::GenerationOptions& options)
        : ReplyGenerator(decoder, tokenizer, options, StopTexts(tokenizer, {})) {}
    // Ends a reply before the first of the texts.
    ReplyGenerator(model::IncrementalDecoder& decoder, const data::Tokenizer& tokenizer,
                   const model::GenerationOptions& options, const StopTexts& stops);

    // Returns one reply per context. `rows` are the contexts' global rows and seed the sampling.
    // `whole_contexts` are the contexts before truncation, for --beam-context-block-ngram; when
    // empty, `contexts` are used.
    std::vector<std::string> reply(
        const std::vector<std::vector<std::int32_t>>& contexts,
        const std::vector<std::uint32_t>& rows,
        const std::vector<std::vector<std::int32_t>>& whole_contexts = {});
    // Returns the replies to the rows of a batch that was read with whole contexts.
    std::vector<std::string> reply(const train::Batch& batch, data::Layout layout);

    // Returns for each context the replies that ended, the best first, or one that was cut if none
    // ended.
    std::vector<std::vector<Reply>> ranked(
        const std::vector<std::vector<std::int32_t>>& contexts,
        const std::vector<std::uint32_t>& rows,
        const std::vector<std::vector<std::int32_t>>& whole_contexts = {});

    // Tells whether a reply can be shown while it grows: hypotheses that compete may change it.
    bool grows() const noexcept { return options_.beam_size == 1; }
    // Returns the best reply, and calls `show` with each part of it as soon as it is certain, with
    // nothing of a text that ends replies. The parts make the reply, unless its tokenizer changes
    // words that were there: then a line feed and the whole reply come last.
    Reply shown(const std::vector<std::int32_t>& context, std::uint32_t row,
                const std::vector<std::int32_t>& whole_context,
                const std::function<void(const std::string&)>& show);

private:
    std::vector<std::vector<Reply>> ranked_by(
        const model::GenerationOptions& options,
        const std::vector<std::vector<std::int32_t>>& contexts,
        const std::vector<std::uint32_t>& rows,
        const std::vector<std::vector<std::int32_t>>& whole_contexts);

    model::IncrementalDecoder& decoder_;
    const data::Tokenizer& tokenizer_;
    StopTexts stops_;
    model::GenerationOptions options_;
};

}  // namespace lockstep::launcher
