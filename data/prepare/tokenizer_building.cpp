// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/tokenizer_building.hpp"

#include <functional>
#include <utility>

#include "data/prepare/ordered_pipeline.hpp"
#include "data/text/fields.hpp"
#include "data/text/json_texts.hpp"
#include "data/text/read_progress.hpp"
#include "data/tokenizer_training/new_tokenizer.hpp"
#include "data/tokenizer_training/text_counts.hpp"
#include "data/tokenizers/dictionary_tokenizer.hpp"
#include "data/tokenizers/sentencepiece_tokenizer.hpp"
#include "data/tokenizers/sentencepiece_training.hpp"
#include "data/tokenizers/token_counts.hpp"
#include "runtime/core/error.hpp"

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
        if (holds_documents(options.read.format))
            return read_documents(chunk, options.read, found, text, [] {});
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

// Counts what Counter finds in the text, a table for each worker.
template <class Counter>
std::vector<TokenCount> counted(const TrainingText& training, const std::string& what) {
    UnitReader reader = training.open();
    ReadProgress progress(training.log, what, reader.total_bytes());
    std::vector<Counter> counters(static_cast<std::size_t>(training.threads));
    OrderedPipeline<UnitChunk, ReadTexts>::run(
        training.threads, [&](UnitChunk& chunk) { return reader.next(chunk); },
        [&](int worker, UnitChunk& chunk) {
            Counter& own = counters[static_cast<std::size_t>(worker)];
            ReadTexts read{.file_bytes = chunk.text.file_bytes, .texts = {}, .warnings = {}};
            training.for_each_text(std::move(chunk), read.warnings,
                                   [&](std::string_view text) { own.add(text); });
            return read;
        },
        [&](const ReadTexts& read) {
            training.warnings.append(read.warnings);
            progress.add(read.file_bytes);
        });
    progress.finish();
    if (!holds_documents(training.options.read.format))
        counters.front().add(training.options.read.delimiter);
    std::vector<TokenCounts*> tables;
    for (Counter& counter : counters) tables.push_back(&counter.counts());
    return sum_of(tables);
}

// The folder keeps the files until the tokenizer is saved there.
std::unique_ptr<Tokenizer> make_characters(const TrainingText& training,
                                           const std::string& folder) {
    const auto characters = counted<CharacterCounter>(training, "counting characters");
    write_character_tokenizer(folder, characters);
    return open_tokenizer(folder);
}

std::unique_ptr<Tokenizer> train_byte_level(const TrainingText& training,
                                            const std::string& folder) {
    const TokenizerOptions& wanted = training.options.tokenizer;
    require_byte_level_size(wanted.vocab_size);
    const auto words = counted<WordCounter>(training, "counting words");
    training.log.info("training byte-level BPE on " + std::to_string(words.size()) +
                      " different words");
    const std::int32_t tokens =
        write_byte_level_bpe(folder, words, wanted.vocab_size, wanted.dictionary.min_freq);
    if (tokens < wanted.vocab_size)
        training.log.info("byte-level BPE made " + std::to_string(tokens) +
                          " tokens, not the --vocab-size of " + std::to_string(wanted.vocab_size) +
                          ": the text has no more that occur often enough");
    return open_tokenizer(folder);
}

std::unique_ptr<Tokenizer> make_tokenizer(const TrainingText& training,
                                          const std::string& scratch) {
    switch (training.options.tokenizer.kind) {
        case TokenizerKind::re:
            return count_dictionary(training, scratch);
        case TokenizerKind::sentencepiece:
            return train_pieces(training);
        case TokenizerKind::characters:
            return make_characters(training, scratch);
        case TokenizerKind::byte_level_bpe:
            return train_byte_level(training, scratch);
        case TokenizerKind::huggingface:
            break;
    }
    throw Error(ErrorKind::contract, "a tokenizer that exists is not made");
}

}  // namespace

std::unique_ptr<Tokenizer> build_tokenizer(const PrepareOptions& options,
                                           const TextDivision& division, int threads,
                                           const std::string& scratch, Warnings& warnings,
                                           Log& log) {
    const TrainingText training{options, division, threads, warnings, log};
    const TokenizerOptions& wanted = options.tokenizer;
    const bool words = wanted.kind == TokenizerKind::re;
    if (wanted.dict_file.empty()) return make_tokenizer(training, scratch);
    if (wanted.kind == TokenizerKind::huggingface) return open_tokenizer(wanted.dict_file);
    if (words)
        return std::make_unique<DictionaryTokenizer>(
            Dictionary::load(wanted.dict_file, wanted.dictionary.letter_case));
    return std::make_unique<SentencePieceTokenizer>(SentencePieceTokenizer::load(wanted.dict_file));
}

}  // namespace lockstep::data
