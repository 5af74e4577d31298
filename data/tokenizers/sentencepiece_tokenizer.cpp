// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/sentencepiece_tokenizer.hpp"

#include <sentencepiece_processor.h>

#include <algorithm>
#include <fstream>
#include <new>

#include "data/storage/shard_format.hpp"
#include "data/text/git_lfs.hpp"
#include "data/tokenizers/sentencepiece_charsmap.hpp"
#include "data/tokenizers/tokenizer_file.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/read_file.hpp"
#include "runtime/files/followed_path.hpp"
#include "runtime/files/hash.hpp"

namespace lockstep::data {
namespace {

constexpr std::string_view space_mark = "\xE2\x96\x81";  // U+2581

void check(const sentencepiece::util::Status& status, const std::string& what) {
    if (!status.ok()) throw Error(ErrorKind::data, what);
}

bool has_our_specials(const sentencepiece::SentencePieceProcessor& processor) {
    const SpecialTokens s;
    return processor.pad_id() == s.null && processor.bos_id() == s.start &&
           processor.eos_id() == s.end() && processor.unk_id() == s.unk;
}

// The library throws its own exceptions for some models, such as one with a piece that begins with
// NUL.
bool loads(sentencepiece::SentencePieceProcessor& processor, const std::string& model) {
    try {
        return processor.LoadFromSerializedProto(model).ok();
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception&) {
        return false;
    }
}

}  // namespace

SentencePieceTokenizer::SentencePieceTokenizer(std::string model, const std::string& origin)
    : model_(std::move(model)),
      hash_(hash64(model_)),
      processor_(std::make_unique<sentencepiece::SentencePieceProcessor>()) {
    if (!charsmaps_are_sound(model_) || !loads(*processor_, model_))
        throw Error(ErrorKind::data,
                    origin + ": not a SentencePiece model, or a damaged one; copy it again");
    normalizes_ = model_normalizes(model_);
    line_feed_ = processor_->PieceToId("<0x0A>");
    space_mark_ = {processor_->PieceToId("<0xE2>"), processor_->PieceToId("<0x96>"),
                   processor_->PieceToId("<0x81>")};
    if (!has_our_specials(*processor_) || line_feed_ == processor_->unk_id())
        throw Error(ErrorKind::data,
                    origin +
                        ": the SentencePiece model needs pad, bos, eos, unk at 0, 1, 2, 3 and "
                        "byte fallback; train it with --pad_id=0 --bos_id=1 --eos_id=2 "
                        "--unk_id=3 --byte_fallback, or leave out --dict-file");
}

SentencePieceTokenizer::~SentencePieceTokenizer() = default;
SentencePieceTokenizer::SentencePieceTokenizer(SentencePieceTokenizer&&) noexcept = default;

SentencePieceTokenizer SentencePieceTokenizer::load(const std::string& path) {
    refuse_lfs_pointer(path);
    return {read_file(path, "cannot read the SentencePiece model"), path};
}

void SentencePieceTokenizer::encode(std::string_view text, std::vector<std::int32_t>& out) const {
    for (;;) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        encode_line(text.substr(0, end), out);
        if (end == text.size()) return;
        out.push_back(line_feed_);
        text.remove_prefix(end + 1);
    }
}

void SentencePieceTokenizer::encode_line(std::string_view line,
                                         std::vector<std::int32_t>& out) const {
    std::vector<int> ids;
    for (;;) {
        const std::size_t end = std::min(line.find(space_mark), line.size());
        if (end > 0) {
            check(processor_->Encode(line.substr(0, end), &ids), "SentencePiece cannot encode");
            out.insert(out.end(), ids.begin(), ids.end());
        }
        if (end == line.size()) return;
        out.insert(out.end(), space_mark_.begin(), space_mark_.end());
        line.remove_prefix(end + space_mark.size());
    }
}

std::string SentencePieceTokenizer::decode(std::span<const std::int32_t> ids) const {
    std::string out;
    for (;;) {
        const auto end = std::find(ids.begin(), ids.end(), line_feed_);
        const auto length = static_cast<std::size_t>(end - ids.begin());
        out += decode_line(ids.first(length));
        if (end == ids.end()) return out;
        out += '\n';
        ids = ids.subspan(length + 1);
    }
}

std::string SentencePieceTokenizer::decode_line(std::span<const std::int32_t> ids) const {
    std::string out;
    for (;;) {
        const auto end =
            std::search(ids.begin(), ids.end(), space_mark_.begin(), space_mark_.end());
        const auto length = static_cast<std::size_t>(end - ids.begin());
        out += decode_part(ids.first(length));
        if (end == ids.end()) return out;
        out += space_mark;
        ids = ids.subspan(length + space_mark_.size());
    }
}

std::string SentencePieceTokenizer::decode_part(std::span<const std::int32_t> ids) const {
    std::vector<int> real;
    for (const std::int32_t id : ids)
        if (id >= *special_.unk && id < size()) real.push_back(id);
    std::string text;
    check(processor_->Decode(real, &text), "SentencePiece cannot decode");
    return text;
}

std::int32_t SentencePieceTokenizer::size() const noexcept { return processor_->GetPieceSize(); }

std::vector<std::string> SentencePieceTokenizer::save(const std::string& directory) const {
    const std::string path = directory + "/" + format::sentencepiece_file;
    std::ofstream file(followed_path(path), std::ios::binary);
    file << model_;
    if (!file.flush()) throw_errno("cannot write the SentencePiece model", path);
    write_tokenizer_file(directory, {.name = std::string(name()),
                                     .file = format::sentencepiece_file,
                                     .hash = hash(),
                                     .letter_case = "keep",
                                     .special = special_});
    return {format::sentencepiece_file, format::tokenizer_file};
}

}  // namespace lockstep::data
