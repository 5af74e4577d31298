// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/split_encoding.hpp"

#include "data/prepare/ordered_pipeline.hpp"
#include "data/text/read_progress.hpp"

namespace lockstep::data {
namespace {

// Adds the rows of encoded chunks to a split.
class DialogueRows {
public:
    DialogueRows(SplitWriter& writer, SpecialTokens special) : writer_(writer), special_(special) {}

    void add(const EncodedChunk& chunk) {
        const std::span<const std::int32_t> ids = chunk.ids;
        for (const EncodedRow& row : chunk.rows) {
            auto source = ids.subspan(row.source_begin, row.source_end - row.source_begin);
            // Attention over an empty context is undefined.
            if (source.empty()) source = {&special_.null, 1};
            target_.assign(ids.begin() + static_cast<std::ptrdiff_t>(row.target_begin),
                           ids.begin() + static_cast<std::ptrdiff_t>(row.target_end));
            target_.push_back(special_.end);
            references_.assign(
                chunk.references.begin() + static_cast<std::ptrdiff_t>(row.references_begin),
                chunk.references.begin() + static_cast<std::ptrdiff_t>(row.references_end));
            writer_.add(source, target_, references_);
        }
    }

private:
    SplitWriter& writer_;
    SpecialTokens special_;
    std::vector<std::int32_t> target_;
    std::vector<std::string_view> references_;
};

// Cuts documents into blocks. Every token is in exactly one block, and a block never spans
// documents.
class DocumentBlocks {
public:
    DocumentBlocks(SplitWriter& writer, SpecialTokens special, std::int64_t block_size)
        : writer_(writer), special_(special), block_size_(static_cast<std::size_t>(block_size)) {}

    void add(const EncodedText& text) {
        std::size_t at = 0;
        for (const std::size_t end : text.document_ends) {
            for (; at < end; ++at) push(text.ids[at]);
            end_document();
        }
        for (; at < text.ids.size(); ++at) push(text.ids[at]);
    }

private:
    void push(std::int32_t id) {
        block_.push_back(id);
        in_document_ = true;
        if (block_.size() == block_size_) flush();
    }
    void end_document() {
        if (!in_document_) return;
        push(special_.end);
        flush();
        in_document_ = false;
    }
    void flush() {
        if (!block_.empty()) writer_.add({}, block_);
        block_.clear();
    }

    SplitWriter& writer_;
    SpecialTokens special_;
    std::size_t block_size_;
    std::vector<std::int32_t> block_;
    bool in_document_ = false;
};

template <class Chunk, class Rows, class Encode>
void run(const SplitJob& job, SplitWriter& writer, Rows rows, Encode&& encode, Log& log) {
    ChunkReader reader(job.files, job.settings.read.format);
    ReadProgress progress(log, "encoding " + writer.name(), reader.total_bytes());
    OrderedPipeline<TextChunk, Chunk>::run(
        job.threads, [&](TextChunk& chunk) { return reader.next(chunk); },
        [&](int, const TextChunk& chunk) { return encode(chunk); },
        [&](const Chunk& chunk) {
            rows.add(chunk);
            writer.count(chunk.tokens);
            progress.add(chunk.file_bytes);
        });
    progress.finish();
}

}  // namespace

void encode_split(const SplitJob& job, const Tokenizer& tokenizer, SplitWriter& writer,
                  Warnings& warnings, Log& log) {
    if (job.settings.read.format == TextFormat::text) {
        run<EncodedText>(
            job, writer, DocumentBlocks(writer, tokenizer.special(), job.block_size),
            [&](const TextChunk& c) { return encode_documents(c, tokenizer, job.settings.read); },
            log);
    } else {
        run<EncodedChunk>(
            job, writer, DialogueRows(writer, tokenizer.special()),
            [&](const TextChunk& c) {
                return encode_dialogues(c, tokenizer, job.settings, warnings);
            },
            log);
    }
}

}  // namespace lockstep::data
