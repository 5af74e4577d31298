// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer_json/pretrained_tokenizer.hpp"

#include <algorithm>
#include <utility>

#include "data/text/unicode.hpp"
#include "data/tokenizer_json/meaning_hash.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::data {
namespace {

void check_root(const JsonPart& root) {
    root.allow({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
                "post_processor", "decoder", "model"});
    const auto version = root.text("version");
    if (version && *version != "1.0")
        root.refuse("the version is '" + shown(*version) + "'; only 1.0 is known");
    if (root.member("model").is_null()) root.refuse("\"model\" is missing");
}

std::vector<std::string> notes_on(const JsonPart& root) {
    std::vector<std::string> notes;
    for (const char* name : {"truncation", "padding"})
        if (!root.member(name).is_null())
            notes.push_back(root.file() + ": \"" + name +
                            "\" is not followed: no text is cut or filled up by a tokenizer");
    return notes;
}

BpeOptions read_bpe(const JsonPart& model) {
    if (model.text("type").value_or("BPE") != "BPE") model.refuse_type("BPE");
    model.allow({"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                 "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"});
    const nlohmann::json& dropout = model.member("dropout").json();
    if (!dropout.is_null() && !(dropout.is_number() && dropout.get<double>() == 0))
        model.refuse("\"dropout\" is not supported");
    return {.unknown_token = model.text("unk_token").value_or(""),
            .continuing_prefix = model.text("continuing_subword_prefix").value_or(""),
            .end_suffix = model.text("end_of_word_suffix").value_or(""),
            .fuse_unknown = model.flag("fuse_unk").value_or(false),
            .byte_fallback = model.flag("byte_fallback").value_or(false),
            .ignore_merges = model.flag("ignore_merges").value_or(false),
            .never_pieces = {},
            .merge_ranks = {}};
}

void require_utf8(std::string_view text) {
    const std::size_t wrong = unicode::first_invalid(text);
    if (wrong != text.size())
        throw Error(ErrorKind::data,
                    "the text is not UTF-8, at its byte " + std::to_string(wrong + 1));
}

}  // namespace

PretrainedTokenizer::PretrainedTokenizer(const RawTokenizerFile& file, const TokenizerFacts& facts,
                                         WordRules rules) {
    const JsonPart root(file.rest, file.path, "");
    check_root(root);
    notes_ = notes_on(root);
    BpeOptions options = read_bpe(root.member("model"));
    read_vocabulary(file);
    added_ = AddedTokens(root, vocabulary_);
    added_.leave_out_of_texts(file.not_in_texts);
    normalizer_ = make_normalizer(root.member("normalizer"));
    added_.read_normalized(normalizer_.get());
    pre_tokenizers_ = make_pre_tokenizers(root.member("pre_tokenizer"));
    post_processor_ = PostProcessor(root.member("post_processor"));
    for (const std::int32_t id : post_processor_.added())
        if (!piece(id))
            root.refuse("post_processor: it adds the id " + std::to_string(id) +
                        ", which no token has");
    read_special_tokens(file, facts);
    if (rules == WordRules::by_file) {
        options.symbols = pre_tokenizers_.symbols;
        options.merge_ranks = file.merge_ranks;
        for (const AddedToken& token : added_.all())
            if (token.special) options.never_pieces.push_back(token.id);
        model_ =
            std::make_unique<BpeModel>(vocabulary_, file.merges, std::move(options), file.path);
        decoder_ = make_decoder(root.member("decoder"));
    } else {
        if (!special_.unknown) root.refuse("it has no token for unknown pieces");
        subword_nmt_ = std::make_unique<SubwordNmt>(vocabulary_, file.merges, *special_.unknown);
        decoder_ = {std::make_unique<SubwordNmtDecoder>(), Streaming::at_the_end};
    }
    hash_ = content_hash(file);
    meaning_ = meaning_hash(file);
}

void PretrainedTokenizer::read_vocabulary(const RawTokenizerFile& file) {
    if (file.vocabulary.empty())
        throw Error(ErrorKind::data, file.path + ": the vocabulary has no pieces");
    for (const auto& [piece, id] : file.vocabulary) {
        const auto added = vocabulary_.add(piece, id);
        if (added == Vocabulary::Added::yes) continue;
        throw Error(ErrorKind::data,
                    file.path + ": " +
                        (added == Vocabulary::Added::id_is_taken
                             ? "the id " + std::to_string(id) + " belongs to two pieces, '" +
                                   shown(*vocabulary_.piece(id)) + "' and '" + shown(piece) + "'"
                             : "the piece '" + shown(piece) + "' is twice in the vocabulary"));
    }
}

void PretrainedTokenizer::read_special_tokens(const RawTokenizerFile& file,
                                              const TokenizerFacts& facts) {
    using Name = std::optional<std::string> SpecialTokenNames::*;
    const auto id_of = [&](const char* member, Name name) {
        const auto& named = facts.named.*name;
        const auto& content = named ? named : facts.by_class.*name;
        std::optional<std::int32_t> id;
        if (content) id = find(*content);
        if (id != no_id) return id;
        if (named)
            throw Error(ErrorKind::data, facts.folder + ": \"" + member + "\" is '" +
                                             shown(*named) + "', which is no token of " +
                                             file.path);
        return std::optional<std::int32_t>();
    };
    special_ = {.begin = id_of("bos_token", &SpecialTokenNames::begin),
                .end = id_of("eos_token", &SpecialTokenNames::end),
                .pad = id_of("pad_token", &SpecialTokenNames::pad),
                .unknown = id_of("unk_token", &SpecialTokenNames::unknown)};
}

// Takes the sections and pieces of one text to the model.
class PretrainedTokenizer::Encoding final : public SectionSink, public PieceSink {
public:
    Encoding(const PretrainedTokenizer& tokenizer, SpecialsInText specials, BpeWorkspace& workspace,
             std::vector<std::int32_t>& out)
        : tokenizer_(tokenizer), specials_(specials), workspace_(workspace), out_(out) {}

    void encode(std::string_view text) {
        if (text.empty()) return;
        tokenizer_.added_.split({text, Piece::Place::begin}, AddedTokens::Stage::given, specials_,
                                *this);
    }
    void encode(std::string_view text, std::span<const TextRange> words) {
        if (!text.empty()) tokenizer_.added_.split({text, Piece::Place::begin}, words, *this);
    }
    void take_token(std::int32_t id) override { out_.push_back(id); }
    void take_text(const Piece& section) override {
        if (stage_ == AddedTokens::Stage::normalized) return split(section);
        stage_ = AddedTokens::Stage::normalized;
        if (tokenizer_.normalizer_) {
            std::string text(section.text);
            tokenizer_.normalizer_->normalize(text);
            tokenizer_.added_.split({text, section.place}, stage_, specials_, *this);
        } else {
            tokenizer_.added_.split(section, stage_, specials_, *this);
        }
        stage_ = AddedTokens::Stage::given;
    }
    void take(const Piece& piece) override {
        tokenizer_.model_->encode(piece.text, workspace_, out_);
    }

private:
    void split(const Piece& section) {
        if (tokenizer_.subword_nmt_)
            return tokenizer_.subword_nmt_->encode(section.text, workspace_, out_);
        tokenizer_.pre_tokenizers_.split(section, *this);
    }

    const PretrainedTokenizer& tokenizer_;
    const SpecialsInText specials_;
    BpeWorkspace& workspace_;
    std::vector<std::int32_t>& out_;
    AddedTokens::Stage stage_ = AddedTokens::Stage::given;
};

void PretrainedTokenizer::encode(std::string_view text, const EncodeOptions& options,
                                 std::vector<std::int32_t>& out) const {
    require_utf8(text);
    const std::size_t begin = out.size();
    const WorkspacePool::Lease workspace(workspaces_);
    Encoding(*this, options.specials_in_text, *workspace, out).encode(text);
    if (options.add_special == AddSpecial::yes) post_processor_.add(begin, out);
}

void PretrainedTokenizer::encode(std::string_view text, std::span<const TextRange> words,
                                 std::vector<std::int32_t>& out) const {
    require_utf8(text);
    const WorkspacePool::Lease workspace(workspaces_);
    Encoding(*this, SpecialsInText::text, *workspace, out).encode(text, words);
}

std::vector<std::int32_t> PretrainedTokenizer::encode(std::string_view text,
                                                      const EncodeOptions& options) const {
    std::vector<std::int32_t> ids;
    encode(text, options, ids);
    return ids;
}

std::string PretrainedTokenizer::decode(std::span<const std::int32_t> ids, SkipSpecial skip) const {
    std::vector<std::string> pieces;
    for (const std::int32_t id : ids) {
        if (skip == SkipSpecial::yes && is_special(id)) continue;
        if (const auto found = decoded_piece(id)) pieces.emplace_back(*found);
    }
    std::string text;
    if (pieces.empty()) return text;
    if (!decoder_.decoder) {
        for (const std::string& piece : pieces)
            text += (&piece == pieces.data() ? "" : " ") + piece;
        return text;
    }
    decoder_.decoder->decode(pieces);
    for (const std::string& piece : pieces) text += piece;
    return text;
}

std::optional<std::string_view> PretrainedTokenizer::decoded_piece(std::int32_t id) const noexcept {
    if (const AddedToken* token = added_.find(id)) return token->decoded;
    return vocabulary_.piece(id);
}

std::optional<std::string_view> PretrainedTokenizer::piece(std::int32_t id) const noexcept {
    if (const AddedToken* token = added_.find(id)) return token->content;
    return vocabulary_.piece(id);
}

std::int32_t PretrainedTokenizer::find(std::string_view piece) const noexcept {
    for (const AddedToken& token : added_.all())
        if (token.content == piece) return token.id;
    return vocabulary_.find(piece);
}

bool PretrainedTokenizer::is_special(std::int32_t id) const noexcept {
    const AddedToken* token = added_.find(id);
    return token != nullptr && token->special;
}

std::int32_t PretrainedTokenizer::size() const noexcept {
    std::int32_t size = vocabulary_.size();
    for (const AddedToken& token : added_.all()) size = std::max(size, token.id + 1);
    return size;
}

}  // namespace lockstep::data
