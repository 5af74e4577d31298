// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/sentencepiece_training.hpp"

#include <sentencepiece_trainer.h>

#include <unordered_map>

#include "data/text/unicode.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::data {
namespace {

// The default sample has 200,000 sentences. This limit keeps it below half a gigabyte even for text
// without line ends; real sentences are far shorter.
constexpr std::size_t longest_sentence_bytes = 2048;

// The specials and byte fallback already take 260 ids.
constexpr std::int32_t smallest_vocabulary = 300;

class SampleIterator final : public sentencepiece::SentenceIterator {
public:
    explicit SampleIterator(const std::vector<std::string>& sentences) : sentences_(sentences) {}

    bool done() const override { return at_ >= sentences_.size(); }
    void Next() override { ++at_; }
    const std::string& value() const override { return sentences_[at_]; }
    sentencepiece::util::Status status() const override { return {}; }

private:
    const std::vector<std::string>& sentences_;
    std::size_t at_ = 0;
};

std::string_view cut(std::string_view sentence) {
    if (sentence.size() <= longest_sentence_bytes) return sentence;
    sentence = sentence.substr(0, longest_sentence_bytes);
    return sentence.substr(0, unicode::first_invalid(sentence));  // never cuts inside a character
}

}  // namespace

SentenceSample::SentenceSample(std::int64_t sentences, std::uint64_t seed)
    : capacity_(static_cast<std::size_t>(sentences)), random_(mix(seed, 0x5e17e9ce)) {}

void SentenceSample::add(std::string_view sentence) {
    ++seen_;
    if (kept_.size() < capacity_) {
        kept_.emplace_back(cut(sentence));
        return;
    }
    const std::uint64_t word = (std::uint64_t{random_()} << 32) | random_();
    const std::uint64_t index = word % seen_;
    if (index < capacity_) kept_[static_cast<std::size_t>(index)] = cut(sentence);
}

std::string train_sentencepiece(const SentenceSample& sample, const TokenizerOptions& options,
                                int threads) {
    if (options.vocab_size < smallest_vocabulary)
        throw Error(ErrorKind::config, "--vocab-size " + std::to_string(options.vocab_size) +
                                           ": SentencePiece needs at least " +
                                           std::to_string(smallest_vocabulary));
    const bool unigram = options.sentencepiece_model == SentencePieceModel::unigram;
    // The identity normaliser and kept spaces make decoding reproduce the text.
    const std::unordered_map<std::string, std::string> arguments = {
        {"model_type", unigram ? "unigram" : "bpe"},
        {"vocab_size", std::to_string(options.vocab_size)},
        {"hard_vocab_limit", "false"},
        {"pad_id", "0"},
        {"bos_id", "1"},
        {"eos_id", "2"},
        {"unk_id", "3"},
        {"pad_piece", "__null__"},
        {"bos_piece", "__start__"},
        {"eos_piece", "__end__"},
        {"unk_piece", "__unk__"},
        {"byte_fallback", "true"},
        {"normalization_rule_name", "identity"},
        {"remove_extra_whitespaces", "false"},
        {"character_coverage", "0.9995"},
        {"num_threads", std::to_string(threads)},
        {"minloglevel", "3"}};
    SampleIterator iterator(sample.sentences());
    std::string model;
    const auto status = sentencepiece::SentencePieceTrainer::Train(arguments, &iterator, &model);
    if (!status.ok())
        throw Error(ErrorKind::config, "SentencePiece cannot train a vocabulary of " +
                                           std::to_string(options.vocab_size) + " on " +
                                           std::to_string(sample.sentences().size()) +
                                           " sentences; lower --vocab-size");
    return model;
}

}  // namespace lockstep::data
