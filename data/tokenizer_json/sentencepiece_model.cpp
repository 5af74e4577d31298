// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer_json/sentencepiece_model.hpp"

#include <algorithm>
#include <bit>
#include <string_view>

#include "data/text/git_lfs.hpp"
#include "data/text/protobuf_fields.hpp"
#include "data/text/unicode.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/read_file.hpp"

namespace lockstep::data {
namespace {

// All places where a piece can be joined are looked at. Those of real models have at most 48 bytes.
constexpr std::size_t longest_piece_bytes = 512;

// What decides whether the model can be read.
struct Rules {
    static constexpr std::uint64_t bpe = 2;
    std::uint64_t kind = 1;
    bool charsmap = false, removes_spaces = true, marks_spaces = true, space_behind = false;

    bool change_texts() const noexcept {
        return charsmap || removes_spaces || !marks_spaces || space_behind;
    }
};

ModelPiece read_piece(std::string_view message) {
    ModelPiece piece;
    protobuf::Fields fields(message);
    while (const auto field = fields.next()) {
        if (field->number == 1) piece.text = field->bytes;
        if (field->number == 2)
            piece.score = std::bit_cast<float>(static_cast<std::uint32_t>(field->value));
        if (field->number == 3) piece.type = field->value;
    }
    return piece;
}

void read_normalizer(std::string_view message, SentencePieceModelFile& model, Rules& rules) {
    protobuf::Fields fields(message);
    while (const auto field = fields.next()) {
        if (field->number == 2) rules.charsmap = !field->bytes.empty();
        if (field->number == 3) model.dummy_prefix = field->value != 0;
        if (field->number == 4) rules.removes_spaces = field->value != 0;
        if (field->number == 5) rules.marks_spaces = field->value != 0;
    }
}

void read_trainer(std::string_view message, SentencePieceModelFile& model, Rules& rules) {
    protobuf::Fields fields(message);
    while (const auto field = fields.next()) {
        if (field->number == 3) rules.kind = field->value;
        if (field->number == 24) rules.space_behind = field->value != 0;
        if (field->number == 41) model.begin = static_cast<std::int32_t>(field->value);
        if (field->number == 42) model.end = static_cast<std::int32_t>(field->value);
    }
}

void check(const SentencePieceModelFile& model, const Rules& rules) {
    const auto refuse = [&](const std::string& what) {
        throw Error(ErrorKind::data, model.path + ": " + what +
                                         "; let transformers load and save the tokenizer, which "
                                         "writes tokenizer.json");
    };
    if (model.pieces.empty())
        throw Error(ErrorKind::data, model.path +
                                         ": is not a SentencePiece model, or a damaged one; copy "
                                         "it again");
    if (rules.kind != Rules::bpe) refuse("is no BPE model");
    if (rules.change_texts()) refuse("changes texts in ways that are not supported");
    for (std::size_t id = 0; id < model.pieces.size(); ++id) {
        const ModelPiece& piece = model.pieces[id];
        if (piece.text.empty() || unicode::first_invalid(piece.text) != piece.text.size())
            refuse("the piece " + std::to_string(id) + " is empty or not UTF-8");
        if (piece.text.size() > longest_piece_bytes)
            refuse("the piece " + std::to_string(id) + " is longer than " +
                   std::to_string(longest_piece_bytes) + " bytes");
        if (piece.type == ModelPiece::unused)
            refuse("the piece " + std::to_string(id) + " is one that is not used");
    }
}

}  // namespace

SentencePieceModelFile read_sentencepiece_model(const std::string& path) {
    const std::string bytes = read_file(path);
    refuse_lfs_pointer(path, bytes);
    SentencePieceModelFile model;
    model.path = path;
    Rules rules;
    protobuf::Fields fields(bytes);
    while (const auto field = fields.next()) {
        if (field->number == 1) model.pieces.push_back(read_piece(field->bytes));
        if (field->number == 2) read_trainer(field->bytes, model, rules);
        if (field->number == 3) read_normalizer(field->bytes, model, rules);
    }
    check(model, rules);
    return model;
}

}  // namespace lockstep::data
