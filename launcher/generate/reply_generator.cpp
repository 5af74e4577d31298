// SPDX-License-Identifier: Apache-2.0
#include "launcher/generate/reply_generator.hpp"

#include "launcher/generate/growing_text.hpp"

namespace lockstep::launcher {

namespace {

// Returns the context of a decoder-only sequence: the tokens before the __start__ token, which has
// the first label. Without such a token the last one of the context has it.
std::vector<std::int32_t> context_of(const train::Batch& batch, std::int64_t sequence,
                                     const data::SpecialTokens& special) {
    const auto& target = batch.target;
    const std::int32_t begin = target.offsets[sequence], end = target.offsets[sequence + 1];
    std::int32_t first = begin;
    while (first < end && batch.labels[first] < 0) ++first;
    if (!special.start && first < end) ++first;
    return {target.tokens.begin() + begin, target.tokens.begin() + first};
}

}  // namespace

model::GenerationOptions reply_options(const RunConfig& config) {
    constexpr int parlais_longest = 256;
    const BatchConfig& b = config.batch;
    model::GenerationOptions options = config.generation;
    if (options.max_length >= 0) return options;
    const std::int64_t truncation = b.label_truncate > 0 ? b.label_truncate : b.truncate;
    options.max_length = truncation > 0 ? static_cast<int>(truncation) : parlais_longest;
    return options;
}

std::vector<std::vector<std::int32_t>> contexts_of(const train::Batch& batch, data::Layout layout,
                                                   const data::SpecialTokens& special) {
    std::vector<std::vector<std::int32_t>> contexts;
    for (std::size_t s = 0; s < batch.rows.size(); ++s) {
        if (layout == data::Layout::decoder_only) {
            contexts.push_back(context_of(batch, static_cast<std::int64_t>(s), special));
            continue;
        }
        const auto& source = batch.source;
        contexts.emplace_back(source.tokens.begin() + source.offsets[s],
                              source.tokens.begin() + source.offsets[s + 1]);
    }
    return contexts;
}

ReplyGenerator::ReplyGenerator(model::IncrementalDecoder& decoder, const data::Tokenizer& tokenizer,
                               const model::GenerationOptions& options, const StopTexts& stops)
    : decoder_(decoder), tokenizer_(tokenizer), stops_(stops), options_(options) {
    if (stops.empty()) return;
    options_.is_complete = [stops](std::span<const std::int32_t> tokens) {
        return stops.are_at_end(tokens);
    };
}

std::vector<std::string> ReplyGenerator::reply(
    const std::vector<std::vector<std::int32_t>>& contexts, const std::vector<std::uint32_t>& rows,
    const std::vector<std::vector<std::int32_t>>& whole_contexts) {
    std::vector<std::string> replies;
    for (auto& of_context : ranked(contexts, rows, whole_contexts)) {
        replies.push_back(std::move(of_context.front().text));
    }
    return replies;
}

std::vector<std::string> ReplyGenerator::reply(const train::Batch& batch, data::Layout layout) {
    return reply(contexts_of(batch, layout, tokenizer_.special()), batch.rows, batch.contexts);
}

std::vector<std::vector<Reply>> ReplyGenerator::ranked(
    const std::vector<std::vector<std::int32_t>>& contexts, const std::vector<std::uint32_t>& rows,
    const std::vector<std::vector<std::int32_t>>& whole_contexts) {
    return ranked_by(options_, contexts, rows, whole_contexts);
}

// The last token is held back: END takes its place if the reply is cut there.
Reply ReplyGenerator::shown(const std::vector<std::int32_t>& context, std::uint32_t row,
                            const std::vector<std::int32_t>& whole_context,
                            const std::function<void(const std::string&)>& show) {
    GrowingText text;
    model::GenerationOptions options = options_;
    options.is_complete = [&](std::span<const std::int32_t> tokens) {
        if (options_.is_complete && options_.is_complete(tokens)) return true;
        const std::string so_far = tokenizer_.decode(tokens.first(tokens.size() - 1));
        const std::string more = text.grow(so_far, stops_.begun_bytes(so_far));
        if (!more.empty()) show(more);
        return false;
    };
    Reply reply = ranked_by(options, {context}, {row}, {whole_context}).front().front();
    show(text.finish(reply.text));
    return reply;
}

std::vector<std::vector<Reply>> ReplyGenerator::ranked_by(
    const model::GenerationOptions& options, const std::vector<std::vector<std::int32_t>>& contexts,
    const std::vector<std::uint32_t>& rows,
    const std::vector<std::vector<std::int32_t>>& whole_contexts) {
    const model::SpecialTokens special{tokenizer_.special().start, tokenizer_.special().ends,
                                       tokenizer_.size(), tokenizer_.reply_begin()};
    std::vector<std::vector<Reply>> replies;
    for (const auto& hypotheses :
         model::generate_ranked(decoder_, contexts, rows, options, special, whole_contexts)) {
        auto& of_context = replies.emplace_back();
        for (const auto& [tokens, score] : hypotheses) {
            of_context.push_back({stops_.cut(tokenizer_.decode(tokens)), score, tokens.size()});
        }
    }
    return replies;
}

}  // namespace lockstep::launcher
