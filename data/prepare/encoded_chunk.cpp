// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/encoded_chunk.hpp"

#include <algorithm>

#include "data/prepare/talk_rows.hpp"
#include "data/text/json_texts.hpp"
#include "data/tokenizers/written_words.hpp"
#include "runtime/core/philox.hpp"

namespace lockstep::data {
namespace {

// A longer episode would fill the disk if every context contains the whole history.
constexpr std::size_t longest_episode_turns = 10'000;

constexpr std::string_view changed_text =
    "the SentencePiece model replaces characters or spaces of this text, so that it does not come "
    "back as it was";

constexpr std::string_view special_word =
    "the word @ has the name of a special token; in a text it is an unknown word, and not that "
    "token";

void warn_of_specials(const TextChunk& chunk, const Tokenizer& tokenizer, Warnings& warnings) {
    SourceLine line{&chunk.path, chunk.first_line};
    std::size_t counted = 0;
    find_specials(tokenizer, chunk.text, [&](std::string_view name, std::size_t offset) {
        const auto between = std::string_view(chunk.text).substr(counted, offset - counted);
        line.line += static_cast<std::uint64_t>(std::count(between.begin(), between.end(), '\n'));
        counted = offset;
        warnings.add(special_word, line, name);
    });
}

void warn_of_changed_lines(const TextChunk& chunk, const Tokenizer& tokenizer, Warnings& warnings) {
    if (!normalizes(tokenizer)) return;
    std::vector<std::int32_t> ids;
    for_each_line(chunk, [&](std::string_view text, const SourceLine& source_line) {
        ids.clear();
        tokenizer.encode(text, ids);
        if (tokenizer.decode(ids) != text) warnings.add(changed_text, source_line);
    });
}

// The ids of an episode are text, delimiter, label, delimiter, text, ...: each context is a range
// of them that ends with its text.
class EpisodeEncoder final : public TurnSink {
public:
    EpisodeEncoder(const Tokenizer& tokenizer, const EncodeSettings& settings, std::uint32_t file,
                   EncodedChunk& out)
        : tokenizer_(tokenizer), settings_(settings), file_(file), out_(out) {
        encode_delimiter(tokenizer, settings.read.delimiter, delimiter_);
    }

    void begin_episode() override { utterances_.clear(); }

    void turn(std::string_view text, std::span<const std::string_view> labels,
              const SourceLine& source_line) override {
        if (!is_silence(text)) append(text, source_line);
        if (labels.empty()) return;
        if (settings_.read.history_size <= 0 && utterances_.size() > 2 * longest_episode_turns)
            throw_bad_text(source_line,
                           "an episode of more than " + std::to_string(longest_episode_turns) +
                               " turns; mark where episodes end, or set --history-size");
        EncodedRow row{.source_begin = context_begin(),
                       .source_end = out_.ids.size(),
                       .before_source = tokenizer_.text_begin(),
                       .after_source = tokenizer_.text_end(),
                       .before_target = tokenizer_.label_begin()};
        const bool is_empty =
            row.source_begin == row.source_end && !row.before_source && !row.after_source;
        if (is_empty && !tokenizer_.special().empty_context())
            throw_bad_text(source_line,
                           "a context without text, and this tokenizer has no token that begins a "
                           "text; give each label a text before it");
        append(labels[choose(labels.size(), source_line.line)], source_line);
        row.target_begin = utterances_.back();
        row.target_end = out_.ids.size();
        row.references_begin = out_.references.size();
        if (settings_.references == EncodeSettings::References::kept)
            out_.references.insert(out_.references.end(), labels.begin(), labels.end());
        row.references_end = out_.references.size();
        out_.rows.push_back(row);
    }

private:
    // Nobody spoke before the first answer.
    bool is_silence(std::string_view text) const {
        return settings_.read.texts == Texts::as_written && text.empty() && utterances_.empty();
    }

    void append(std::string_view text, const SourceLine& source_line) {
        if (!utterances_.empty())
            out_.ids.insert(out_.ids.end(), delimiter_.begin(), delimiter_.end());
        utterances_.push_back(out_.ids.size());
        tokenizer_.encode(text, out_.ids);
        const auto ids = std::span<const std::int32_t>(out_.ids).subspan(utterances_.back());
        out_.tokens.add(ids, tokenizer_.special().unk);
        find_specials(tokenizer_, text, [&](std::string_view name, std::size_t) {
            out_.warnings.add(special_word, source_line, name);
        });
        if (normalizes_ && tokenizer_.decode(ids) != text)
            out_.warnings.add(changed_text, source_line);
    }

    std::size_t context_begin() const {
        if (utterances_.empty()) return out_.ids.size();
        const auto kept = static_cast<std::size_t>(settings_.read.history_size);
        const bool all = settings_.read.history_size <= 0 || kept >= utterances_.size();
        return all ? utterances_.front() : utterances_[utterances_.size() - kept];
    }

    // ParlAI takes one of several labels at random. Our choice depends only on the seed, the file
    // and the line.
    std::size_t choose(std::size_t count, std::uint64_t line) const {
        if (count == 1) return 0;
        const auto low = static_cast<std::uint32_t>(line),
                   high = static_cast<std::uint32_t>(line >> 32);
        const std::uint64_t word = philox({low, high, file_, 0}, settings_.seed)[0];
        return static_cast<std::size_t>((word * count) >> 32);
    }

    const Tokenizer& tokenizer_;
    const EncodeSettings& settings_;
    std::uint32_t file_;
    EncodedChunk& out_;
    const bool normalizes_ = normalizes(tokenizer_);
    std::vector<std::int32_t> delimiter_;
    std::vector<std::size_t> utterances_;  // begin of each utterance of the episode
};

}  // namespace

EncodedChunk encode_dialogues(const TextChunk& chunk, const Tokenizer& tokenizer,
                              const EncodeSettings& settings) {
    EncodedChunk out;
    out.file_bytes = chunk.file_bytes;
    if (settings.chat != nullptr) {
        encode_talks(chunk, tokenizer, settings, out);
        return out;
    }
    EpisodeEncoder encoder(tokenizer, settings, chunk.file, out);
    read_turns(chunk, settings.read, out.warnings, encoder);
    return out;
}

EncodedText encode_documents(const TextChunk& chunk, const Tokenizer& tokenizer,
                             const ReadOptions& options) {
    EncodedText out;
    out.file_bytes = chunk.file_bytes;
    read_documents(
        chunk, options, out.warnings,
        [&](std::string_view text) { tokenizer.encode(text, out.ids); },
        [&] { out.document_ends.push_back(out.ids.size()); });
    out.tokens.add(out.ids, tokenizer.special().unk);
    warn_of_specials(chunk, tokenizer, out.warnings);
    warn_of_changed_lines(chunk, tokenizer, out.warnings);
    return out;
}

}  // namespace lockstep::data
