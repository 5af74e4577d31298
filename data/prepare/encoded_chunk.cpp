// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/encoded_chunk.hpp"

#include "data/text/plain_text.hpp"
#include "runtime/core/philox.hpp"

namespace lockstep::data {
namespace {

// A longer episode would fill the disk if every context contains the whole history.
constexpr std::size_t longest_episode_turns = 10'000;

// The ids of an episode are text, delimiter, label, delimiter, text, ...: each context is a range
// of them that ends with its text.
class EpisodeEncoder final : public TurnSink {
public:
    EpisodeEncoder(const Tokenizer& tokenizer, const EncodeSettings& settings, std::uint32_t file,
                   EncodedChunk& out)
        : tokenizer_(tokenizer), settings_(settings), file_(file), out_(out) {
        tokenizer.encode(settings.read.delimiter, delimiter_);
    }

    void begin_episode() override { utterances_.clear(); }

    void turn(std::string_view text, std::span<const std::string_view> labels,
              const SourceLine& source_line) override {
        append(text);
        if (labels.empty()) return;
        if (settings_.read.history_size <= 0 && utterances_.size() > 2 * longest_episode_turns)
            throw_bad_text(source_line,
                           "an episode of more than " + std::to_string(longest_episode_turns) +
                               " turns; mark where episodes end, or set --history-size");
        EncodedRow row{.source_begin = context_begin(), .source_end = out_.ids.size()};
        append(labels[choose(labels.size(), source_line.line)]);
        row.target_begin = utterances_.back();
        row.target_end = out_.ids.size();
        row.references_begin = out_.references.size();
        if (settings_.references == EncodeSettings::References::kept)
            out_.references.insert(out_.references.end(), labels.begin(), labels.end());
        row.references_end = out_.references.size();
        out_.rows.push_back(row);
    }

private:
    void append(std::string_view text) {
        if (!utterances_.empty())
            out_.ids.insert(out_.ids.end(), delimiter_.begin(), delimiter_.end());
        utterances_.push_back(out_.ids.size());
        tokenizer_.encode(text, out_.ids);
        out_.tokens.add(std::span(out_.ids).subspan(utterances_.back()), tokenizer_.special().unk);
    }

    std::size_t context_begin() const {
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
    std::vector<std::int32_t> delimiter_;
    std::vector<std::size_t> utterances_;  // begin of each utterance of the episode
};

}  // namespace

EncodedChunk encode_dialogues(const TextChunk& chunk, const Tokenizer& tokenizer,
                              const EncodeSettings& settings, Warnings& warnings) {
    EncodedChunk out;
    out.file_bytes = chunk.file_bytes;
    EpisodeEncoder encoder(tokenizer, settings, chunk.file, out);
    read_turns(chunk, settings.read, warnings, encoder);
    return out;
}

EncodedText encode_documents(const TextChunk& chunk, const Tokenizer& tokenizer,
                             const ReadOptions& options) {
    EncodedText out;
    out.file_bytes = chunk.file_bytes;
    read_plain_text(
        chunk, options.documents, [&](std::string_view text) { tokenizer.encode(text, out.ids); },
        [&] { out.document_ends.push_back(out.ids.size()); });
    out.tokens.add(out.ids, tokenizer.special().unk);
    return out;
}

}  // namespace lockstep::data
