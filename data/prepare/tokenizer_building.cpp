// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/tokenizer_building.hpp"

#include <functional>
#include <utility>

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

// What a worker has read of a chunk.
struct ReadTexts {
    std::uint64_t file_bytes = 0;
    std::string texts;  // a line each; only for a sample
    Warnings warnings;
};

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

// The text from which a tokenizer is made.
struct TrainingText {
    const PrepareOptions& options;
    const TextDivision& division;
    int threads;
    Warnings& warnings;
    Log& log;

    UnitReader open() const {
        return {options.inputs, options.read, options.block_size, division.looked_for()};
    }
    // Adds what is odd in the chunk to `found`.
    void for_each_text(UnitChunk&& chunk, Warnings& found, const TextFunction& text) const {
        for (const SplitText& piece : divided(std::move(chunk), division))
            if (piece.part == SplitPart::train) for_each_text(piece.text, found, text);
    }

private:
    void for_each_text(const TextChunk& chunk, Warnings& found, const TextFunction& text) const {
        if (options.read.format == TextFormat::text) {
            read_plain_text(chunk, options.read.documents, found, text, [] {});
            return;
        }
        TextsOfTurns sink(text);
        read_turns(chunk, options.read, found, sink);
    }
};

std::unique_ptr<Tokenizer> count_dictionary(const TrainingText& training,
                                            const std::string& scratch) {
    const DictionaryOptions& dictionary = training.options.tokenizer.dictionary;
    UnitReader reader = training.open();
    ReadProgress progress(training.log, "counting tokens", reader.total_bytes());
    std::vector<TokenCounts> counts(static_cast<std::size_t>(training.threads));
    CountRuns runs(scratch);
    OrderedPipeline<UnitChunk, ReadTexts>::run(
        training.threads, [&](UnitChunk& chunk) { return reader.next(chunk); },
        [&](int worker, UnitChunk& chunk) {
            TokenCounts& own = counts[static_cast<std::size_t>(worker)];
            ReadTexts read{.file_bytes = chunk.text.file_bytes, .texts = {}, .warnings = {}};
            training.for_each_text(std::move(chunk), read.warnings, [&](std::string_view text) {
                own.add_text(text, dictionary.letter_case);
            });
            if (own.bytes() > max_count_bytes / counts.size()) runs.write(own);
            return read;
        },
        [&](const ReadTexts& read) {
            training.warnings.append(read.warnings);
            progress.add(read.file_bytes);
        });
    progress.finish();
    return std::make_unique<DictionaryTokenizer>(
        Dictionary(runs.merge(counts, dictionary), dictionary));
}

// Samples the sentences and reports the pass over the text.
SentenceSample sample_sentences(const TrainingText& training) {
    UnitReader reader = training.open();
    ReadProgress progress(training.log, "sampling sentences", reader.total_bytes());
    SentenceSample sample(training.options.tokenizer.sample_sentences, training.options.seed);
    OrderedPipeline<UnitChunk, ReadTexts>::run(
        training.threads, [&](UnitChunk& chunk) { return reader.next(chunk); },
        [&](int, UnitChunk& chunk) {
            ReadTexts read{.file_bytes = chunk.text.file_bytes, .texts = {}, .warnings = {}};
            training.for_each_text(std::move(chunk), read.warnings,
                                   [&](std::string_view text) { read.texts.append(text) += '\n'; });
            return read;
        },
        [&](const ReadTexts& read) {
            for_each_part(read.texts, '\n', [&](std::string_view sentence) {
                if (!sentence.empty()) sample.add(sentence);
            });
            training.warnings.append(read.warnings);
            progress.add(read.file_bytes);
        });
    progress.finish();
    return sample;
}

std::unique_ptr<Tokenizer> train_pieces(const TrainingText& training) {
    const TokenizerOptions& wanted = training.options.tokenizer;
    Log& log = training.log;
    const SentenceSample sample = sample_sentences(training);
    log.info("training SentencePiece on " + std::to_string(sample.sentences().size()) +
             " sentences");
    auto tokenizer = std::make_unique<SentencePieceTokenizer>(
        train_sentencepiece(sample, wanted, training.threads), "the new model");
    if (tokenizer->size() < wanted.vocab_size)
        log.info("SentencePiece made " + std::to_string(tokenizer->size()) +
                 " pieces, not the --vocab-size of " + std::to_string(wanted.vocab_size) +
                 ": the text has no more that occur often enough");
    return tokenizer;
}

}  // namespace

std::unique_ptr<Tokenizer> build_tokenizer(const PrepareOptions& options,
                                           const TextDivision& division, int threads,
                                           const std::string& scratch, Warnings& warnings,
                                           Log& log) {
    const TrainingText training{options, division, threads, warnings, log};
    const TokenizerOptions& wanted = options.tokenizer;
    const bool words = wanted.kind == TokenizerKind::re;
    if (wanted.dict_file.empty())
        return words ? count_dictionary(training, scratch) : train_pieces(training);
    if (wanted.kind == TokenizerKind::huggingface) return open_tokenizer(wanted.dict_file);
    if (words)
        return std::make_unique<DictionaryTokenizer>(
            Dictionary::load(wanted.dict_file, wanted.dictionary.letter_case));
    return std::make_unique<SentencePieceTokenizer>(SentencePieceTokenizer::load(wanted.dict_file));
}

}  // namespace lockstep::data
