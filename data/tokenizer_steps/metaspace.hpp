// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "data/tokenizer_steps/pre_tokenizer.hpp"

namespace lockstep::data {

// Where a mark for a space is put before a piece that has none: before the first one of a text,
// before each one or nowhere.
enum class PrependScheme { first, always, never };

struct MetaspaceOptions {
    std::string mark;  // the character that stands for a space
    PrependScheme scheme = PrependScheme::always;
    enum class Words { apart, together } words = Words::apart;
};

// Reads the members of a pre-tokenizer or decoder Metaspace.
MetaspaceOptions read_metaspace(const JsonPart& part);

// Replaces each space by the mark, and splits before each mark.
class Metaspace final : public PreTokenizer {
public:
    explicit Metaspace(MetaspaceOptions options);
    ~Metaspace() override;
    void split(const Piece& piece, PieceSink& sink) const override;

private:
    MetaspaceOptions options_;
    std::unique_ptr<PreTokenizer> before_marks_;
};

}  // namespace lockstep::data
