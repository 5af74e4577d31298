// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::data {

// A piece of a SentencePiece model.
struct ModelPiece {
    // The kinds in sentencepiece_model.proto.
    enum Type : std::uint64_t {
        normal = 1,
        unknown = 2,
        control = 3,
        user_defined = 4,
        unused = 5,
        byte = 6
    };
    std::string text;
    float score = 0;
    std::uint64_t type = normal;

    // Such a piece is no text.
    bool is_special() const noexcept { return type == control || type == unknown; }
    // Such a piece may be joined of others.
    bool joins() const noexcept { return type == normal || type == user_defined; }
};

// What a BPE model of SentencePiece says that does not normalize.
struct SentencePieceModelFile {
    std::string path;
    std::vector<ModelPiece> pieces;   // by their ids
    std::int64_t begin = 1, end = 2;  // ids; negative: there is none
    bool dummy_prefix = true;         // a space is put before a text
};

// Throws a data error that names the file and what is wrong with it or not supported: models that
// are not BPE, and those that change texts.
SentencePieceModelFile read_sentencepiece_model(const std::string& path);

}  // namespace lockstep::data
