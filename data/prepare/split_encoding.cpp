// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/split_encoding.hpp"

#include <optional>
#include <tuple>
#include <utility>

#include "data/prepare/ordered_pipeline.hpp"
#include "data/text/read_progress.hpp"

namespace lockstep::data {
namespace {

// Adds the rows of encoded chunks to a split.
class DialogueRows {
public:
    DialogueRows(SplitWriter& writer, const SplitJob&, const SpecialTokens& special)
        : writer_(writer), end_(special.end()), empty_context_(special.empty_context()) {}

    void add(const EncodedChunk& chunk) {
        const std::span<const std::int32_t> ids = chunk.ids;
        for (const EncodedRow& row : chunk.rows) {
            source_.clear();
            if (row.before_source) source_.push_back(*row.before_source);
            const auto source = ids.subspan(row.source_begin, row.source_end - row.source_begin);
            source_.insert(source_.end(), source.begin(), source.end());
            if (row.after_source) source_.push_back(*row.after_source);
            spans_.assign(chunk.spans.begin() + static_cast<std::ptrdiff_t>(row.spans_begin),
                          chunk.spans.begin() + static_cast<std::ptrdiff_t>(row.spans_end));
            // Attention over an empty context is undefined.
            if (source_.empty() && empty_context_) source_.push_back(*empty_context_);
            target_.clear();
            if (row.before_target) target_.push_back(*row.before_target);
            const auto target = ids.subspan(row.target_begin, row.target_end - row.target_begin);
            target_.insert(target_.end(), target.begin(), target.end());
            if (row.end == TargetEnd::added) target_.push_back(end_);
            references_.assign(
                chunk.references.begin() + static_cast<std::ptrdiff_t>(row.references_begin),
                chunk.references.begin() + static_cast<std::ptrdiff_t>(row.references_end));
            writer_.add(source_, target_, references_, spans_);
        }
    }
    void interrupt() {}  // an episode is never interrupted

private:
    SplitWriter& writer_;
    const std::int32_t end_;
    const std::optional<std::int32_t> empty_context_;
    std::vector<std::int32_t> source_, target_;
    std::vector<std::string_view> references_;
    std::vector<LabelSpan> spans_;
};

// Cuts documents into blocks. Every token is in exactly one block, and a block never spans
// documents. Without a start token, the source of a block is the token before it: that which begins
// a text, or the last one of the block before. If there is neither, the first token of a text has
// no prediction.
class DocumentBlocks {
public:
    DocumentBlocks(SplitWriter& writer, const SplitJob& job, const SpecialTokens& special)
        : writer_(writer),
          end_(special.end()),
          begin_(special.begin),
          has_source_(!special.start),
          block_size_(static_cast<std::size_t>(job.block_size)) {}

    void add(const EncodedText& text) {
        std::size_t at = 0;
        for (const std::size_t end : text.document_ends) {
            for (; at < end; ++at) push(text.ids[at]);
            end_document();
        }
        for (; at < text.ids.size(); ++at) push(text.ids[at]);
    }
    // Text of another split follows. The block ends, but the document does not.
    void interrupt() {
        flush();
        in_document_ = false;
        before_.reset();
    }

private:
    void push(std::int32_t id) {
        in_document_ = true;
        if (has_source_ && !before_) {
            before_ = id;
            return;
        }
        block_.push_back(id);
        if (block_.size() == block_size_) flush();
    }
    void end_document() {
        if (!in_document_) return;
        push(end_);
        flush();
        in_document_ = false;
        before_ = begin_;
    }
    void flush() {
        if (block_.empty()) return;
        if (has_source_)
            writer_.add({&*before_, 1}, block_);
        else
            writer_.add({}, block_);
        before_ = block_.back();
        block_.clear();
    }

    SplitWriter& writer_;
    const std::int32_t end_;
    const std::optional<std::int32_t> begin_;
    const bool has_source_;
    std::size_t block_size_;
    std::optional<std::int32_t> before_ = begin_;  // the token before the block
    std::vector<std::int32_t> block_;
    bool in_document_ = false;
};

template <class Chunk>
struct EncodedPart {
    SplitPart part;
    Chunk chunk;
};

// Hands the encoded parts of chunks on to the rows of their splits.
template <class Rows>
class SplitRows {
public:
    SplitRows(const SplitJob& job, const SplitWriters& writers, const SpecialTokens& special)
        : writers_(writers), last_(job.division.whole) {
        for (std::size_t part = 0; part < writers.size(); ++part)
            if (writers[part] != nullptr) rows_[part].emplace(*writers[part], job, special);
    }

    template <class Chunk>
    void add(const EncodedPart<Chunk>& encoded) {
        if (encoded.part != last_) rows_of(last_).interrupt();
        last_ = encoded.part;
        rows_of(last_).add(encoded.chunk);
        writers_[static_cast<std::size_t>(last_)]->count(encoded.chunk.tokens);
    }

private:
    Rows& rows_of(SplitPart part) { return *rows_[static_cast<std::size_t>(part)]; }

    const SplitWriters& writers_;
    std::array<std::optional<Rows>, std::tuple_size_v<SplitWriters>> rows_;
    SplitPart last_;
};

// Names the splits, such as "train, valid".
std::string names_of(const SplitWriters& writers) {
    std::string names;
    for (const SplitWriter* writer : writers)
        if (writer != nullptr) names += (names.empty() ? "" : ", ") + writer->name();
    return names;
}

template <class Rows, class Chunk, class Encode>
void run(const SplitJob& job, const SplitWriters& writers, const SpecialTokens& special,
         Encode&& encode, Warnings& warnings, Log& log) {
    UnitReader reader(job.files, job.read, job.block_size, job.division.looked_for());
    ReadProgress progress(log, "encoding " + names_of(writers), reader.total_bytes());
    SplitRows<Rows> rows(job, writers, special);
    using Parts = std::vector<EncodedPart<Chunk>>;
    OrderedPipeline<UnitChunk, Parts>::run(
        job.threads, [&](UnitChunk& chunk) { return reader.next(chunk); },
        [&](int, UnitChunk& chunk) {
            Parts parts;
            for (const SplitText& text : divided(std::move(chunk), job.division))
                parts.push_back({text.part, encode(text)});
            return parts;
        },
        [&](const Parts& parts) {
            for (const EncodedPart<Chunk>& part : parts) {
                rows.add(part);
                warnings.append(part.chunk.warnings);
                progress.add(part.chunk.file_bytes);
            }
        });
    progress.finish();
}

}  // namespace

void encode_splits(const SplitJob& job, const Tokenizer& tokenizer, const SplitWriters& writers,
                   Warnings& warnings, Log& log) {
    if (holds_documents(job.read.format)) {
        run<DocumentBlocks, EncodedText>(
            job, writers, tokenizer.special(),
            [&](const SplitText& t) { return encode_documents(t.text, tokenizer, job.read); },
            warnings, log);
        return;
    }
    using Kept = EncodeSettings::References;
    std::optional<ChatFormat> chat;
    if (job.read.format == TextFormat::messages) chat = ChatFormat::of(tokenizer, job.date);
    run<DialogueRows, EncodedChunk>(
        job, writers, tokenizer.special(),
        [&](const SplitText& t) {
            const EncodeSettings settings{
                .read = job.read,
                .seed = job.seed,
                .references = t.part == SplitPart::train ? Kept::none : Kept::kept,
                .talk_rows = t.part == SplitPart::train ? job.talk_rows : TalkRows::turns,
                .chat = chat ? &*chat : nullptr};
            return encode_dialogues(t.text, tokenizer, settings);
        },
        warnings, log);
}

}  // namespace lockstep::data
