// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "data/bpe/bpe_model.hpp"
#include "data/tokenizer_steps/json_part.hpp"

namespace lockstep::data {

// A piece of text on its way to the model.
struct Piece {
    std::string_view text;                    // not empty
    enum class Place { begin, later } place;  // begin: it is the begin of the whole text
};

class PieceSink {
public:
    virtual ~PieceSink() = default;
    virtual void take(const Piece& piece) = 0;
};

// Splits a piece into smaller ones, and may change them. Several threads may call it at once.
class PreTokenizer {
public:
    virtual ~PreTokenizer() = default;
    virtual void split(const Piece& piece, PieceSink& sink) const = 0;
};

// The steps of a pre-tokenizer, one after the other.
struct PreTokenizers {
    std::vector<std::unique_ptr<PreTokenizer>> steps;
    SymbolKind symbols = SymbolKind::characters;  // what the model gets

    // Calls `sink` for each piece.
    void split(const Piece& piece, PieceSink& sink) const { split_from(0, piece, sink); }

private:
    class NextStep;
    void split_from(std::size_t step, const Piece& piece, PieceSink& sink) const;
};

// Makes the pre-tokenizer that a file describes; null describes one without steps. Throws a data
// error that names a type or a member that is not supported.
PreTokenizers make_pre_tokenizers(const JsonPart& part);

}  // namespace lockstep::data
