// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/batching/batching_options.hpp"
#include "data/tokenizers/tokenizer.hpp"
#include "launcher/options/run_config.hpp"
#include "model/decoding/decoder.hpp"
#include "model/decoding/generation.hpp"
#include "runtime/batch/batch.hpp"

namespace lockstep::launcher {

// The token ids that a reply is generated from, row by row of a batch.
std::vector<std::vector<std::int32_t>> contexts_of(const train::Batch& batch, data::Layout layout);

// As the options say; the longest reply is --max-length, else ParlAI's: the label truncation, or
// 256 tokens without one.
model::GenerationOptions reply_options(const RunConfig& config);

struct Reply {
    std::string text;
    double score = 0;
    std::size_t tokens = 0;  // without the end
};

// What turns a prompt's tokens into a reply's text.
class ReplyGenerator {
public:
    // All outlive the replier.
    ReplyGenerator(model::IncrementalDecoder& decoder, const data::Tokenizer& tokenizer,
                   const model::GenerationOptions& options)
        : decoder_(decoder), tokenizer_(tokenizer), options_(options) {}

    // One reply per context; rows are their global rows, which seed what is sampled.
    // `whole_contexts` are those before any cut, for --beam-context-block-ngram; none: as contexts.
    std::vector<std::string> reply(
        const std::vector<std::vector<std::int32_t>>& contexts,
        const std::vector<std::uint32_t>& rows,
        const std::vector<std::vector<std::int32_t>>& whole_contexts = {});
    // To the rows of a batch whose whole contexts were read.
    std::vector<std::string> reply(const train::Batch& batch, data::Layout layout);

    // The replies to each context that ended, the best first.
    std::vector<std::vector<Reply>> ranked(
        const std::vector<std::vector<std::int32_t>>& contexts,
        const std::vector<std::uint32_t>& rows,
        const std::vector<std::vector<std::int32_t>>& whole_contexts = {});

private:
    model::IncrementalDecoder& decoder_;
    const data::Tokenizer& tokenizer_;
    model::GenerationOptions options_;
};

}  // namespace lockstep::launcher
