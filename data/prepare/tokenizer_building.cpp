// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/tokenizer_building.hpp"

#include <functional>

#include "data/prepare/ordered_pipeline.hpp"
#include "data/text/fields.hpp"
#include "data/text/plain_text.hpp"
#include "data/text/read_progress.hpp"
#include "data/tokenizers/dictionary_tokenizer.hpp"
#include "data/tokenizers/sentencepiece_tokenizer.hpp"
#include "data/tokenizers/sentencepiece_training.hpp"
#include "data/tokenizers/token_counts.hpp"

namespace lockstep::data {
namespace {

// The limit is for all workers together. Sorting a table for its file temporarily needs part of
// that again.
constexpr std::size_t max_count_bytes = std::size_t{128} << 20;

using TextFunction = std::function<void(std::string_view)>;

class TextsOfTurns final : public TurnSink {
public:
    explicit TextsOfTurns(const TextFunction& text) : text_(text) {}

    void begin_episode() override {}
    // Every turn counts once with all its labels, although contexts repeat turns.
    void turn(std::string_view text, std::span<const std::string_view> labels,
              const SourceLine&) override {
        text_(text);
        for (const std::string_view label : labels) text_(label);
    }

private:
    const TextFunction& text_;
};

void for_each_text(const TextChunk& chunk, const ReadOptions& options, Warnings& warnings,
                   const TextFunction& text) {
    if (options.format == TextFormat::text) {
        read_plain_text(chunk, options.documents, text, [] {});
        return;
    }
    TextsOfTurns sink(text);
    read_turns(chunk, options, warnings, sink);
}

std::unique_ptr<Tokenizer> count_dictionary(const PrepareOptions& options, int threads,
                                            const std::string& scratch, Warnings& warnings,
                                            Log& log) {
    const DictionaryOptions& dictionary = options.tokenizer.dictionary;
    ChunkReader reader(options.inputs, options.read.format);
    ReadProgress progress(log, "counting tokens", reader.total_bytes());
    std::vector<TokenCounts> counts(static_cast<std::size_t>(threads));
    CountRuns runs(scratch);
    OrderedPipeline<TextChunk, std::uint64_t>::run(
        threads, [&](TextChunk& chunk) { return reader.next(chunk); },
        [&](int worker, const TextChunk& chunk) {
            TokenCounts& own = counts[static_cast<std::size_t>(worker)];
            for_each_text(chunk, options.read, warnings, [&](std::string_view text) {
                own.add_text(text, dictionary.letter_case);
            });
            if (own.bytes() > max_count_bytes / counts.size()) runs.write(own);
            return chunk.file_bytes;
        },
        [&](std::uint64_t bytes) { progress.add(bytes); });
    progress.finish();
    return std::make_unique<DictionaryTokenizer>(
        Dictionary(runs.merge(counts, dictionary), dictionary));
}

std::unique_ptr<Tokenizer> train_pieces(const PrepareOptions& options, int threads,
                                        Warnings& warnings, Log& log) {
    ChunkReader reader(options.inputs, options.read.format);
    ReadProgress progress(log, "sampling sentences", reader.total_bytes());
    SentenceSample sample(options.tokenizer.sample_sentences, options.seed);
    using Texts = std::pair<std::uint64_t, std::string>;
    OrderedPipeline<TextChunk, Texts>::run(
        threads, [&](TextChunk& chunk) { return reader.next(chunk); },
        [&](int, const TextChunk& chunk) {
            Texts texts{chunk.file_bytes, {}};
            for_each_text(chunk, options.read, warnings,
                          [&](std::string_view text) { texts.second.append(text) += '\n'; });
            return texts;
        },
        [&](const Texts& texts) {
            for_each_part(texts.second, '\n', [&](std::string_view sentence) {
                if (!sentence.empty()) sample.add(sentence);
            });
            progress.add(texts.first);
        });
    progress.finish();
    log.info("training SentencePiece on " + std::to_string(sample.sentences().size()) +
             " sentences");
    auto tokenizer = std::make_unique<SentencePieceTokenizer>(
        train_sentencepiece(sample, options.tokenizer, threads), "the new model");
    if (tokenizer->size() < options.tokenizer.vocab_size)
        log.info("SentencePiece made " + std::to_string(tokenizer->size()) +
                 " pieces, not the --vocab-size of " +
                 std::to_string(options.tokenizer.vocab_size) +
                 ": the text has no more that occur often enough");
    return tokenizer;
}

}  // namespace

std::unique_ptr<Tokenizer> build_tokenizer(const PrepareOptions& options, int threads,
                                           const std::string& scratch, Warnings& warnings,
                                           Log& log) {
    const TokenizerOptions& wanted = options.tokenizer;
    const bool words = wanted.kind == TokenizerKind::re;
    if (wanted.dict_file.empty())
        return words ? count_dictionary(options, threads, scratch, warnings, log)
                     : train_pieces(options, threads, warnings, log);
    if (words)
        return std::make_unique<DictionaryTokenizer>(
            Dictionary::load(wanted.dict_file, wanted.dictionary.letter_case));
    return std::make_unique<SentencePieceTokenizer>(SentencePieceTokenizer::load(wanted.dict_file));
}

}  // namespace lockstep::data
