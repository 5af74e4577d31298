// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer_steps/pre_tokenizer.hpp"

#include <utility>

#include "data/bpe/byte_alphabet.hpp"
#include "data/patterns/unicode_classes.hpp"
#include "data/text/unicode.hpp"
#include "data/tokenizer_steps/metaspace.hpp"
#include "data/tokenizer_steps/split_behavior.hpp"

namespace lockstep::data {
namespace {

constexpr const char* gpt2_pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// Puts a space before each piece that has none.
class PrefixSpace final : public PreTokenizer {
public:
    void split(const Piece& piece, PieceSink& sink) const override {
        if (piece.text.starts_with(' ')) return sink.take(piece);
        const std::string text = " " + std::string(piece.text);
        sink.take({text, piece.place});
    }
};

// Writes each byte as its character, for steps that come after it.
class ByteCharacters final : public PreTokenizer {
public:
    void split(const Piece& piece, PieceSink& sink) const override {
        std::string text;
        append_byte_characters(piece.text, text);
        sink.take({text, piece.place});
    }
};

class CharacterPattern final : public SplitPattern {
public:
    explicit CharacterPattern(bool (*wanted)(char32_t) noexcept) : wanted_(wanted) {}
    PatternMatch next(std::string_view text, std::size_t from) const override {
        while (from < text.size()) {
            const unicode::Decoded c = unicode::decode(text.substr(from));
            const std::size_t end = from + (c.bytes == 0 ? 1 : c.bytes);
            if (c.bytes != 0 && wanted_(c.code_point)) return {from, end};
            from = end;
        }
        return {std::string_view::npos, std::string_view::npos};
    }

private:
    bool (*wanted_)(char32_t) noexcept;
};

std::unique_ptr<PreTokenizer> make_split(const JsonPart& part) {
    part.allow({"pattern", "behavior", "invert"});
    const auto invert = part.flag("invert").value_or(false) ? Parts::swapped : Parts::as_found;
    return std::make_unique<Splitting>(make_text_pattern(part.member("pattern")),
                                       behavior_of(part, part.needed_text("behavior")), invert);
}

void add_byte_level(const JsonPart& part, PreTokenizers& all) {
    part.allow({"add_prefix_space", "trim_offsets", "use_regex"});
    if (part.needed_flag("add_prefix_space")) all.steps.push_back(std::make_unique<PrefixSpace>());
    if (part.flag("use_regex").value_or(true))
        all.steps.push_back(std::make_unique<Splitting>(make_split_pattern(gpt2_pattern),
                                                        SplitBehavior::isolated, Parts::as_found));
    all.symbols = SymbolKind::bytes;
}

void add_step(const JsonPart& part, PreTokenizers& all) {
    if (part.is_null()) part.refuse("it is null");
    const std::string type = part.type();
    if (type == "Sequence") {
        part.allow({"pretokenizers"});
        for (const JsonPart& step : part.list("pretokenizers")) add_step(step, all);
        return;
    }
    // The model makes characters of bytes, unless a step before it sees them.
    if (all.symbols == SymbolKind::bytes) all.steps.push_back(std::make_unique<ByteCharacters>());
    all.symbols = SymbolKind::characters;
    if (type == "ByteLevel") {
        add_byte_level(part, all);
    } else if (type == "Split") {
        all.steps.push_back(make_split(part));
    } else if (type == "Metaspace") {
        all.steps.push_back(std::make_unique<Metaspace>(read_metaspace(part)));
    } else if (type == "Digits") {
        part.allow({"individual_digits"});
        const auto behavior = part.needed_flag("individual_digits") ? SplitBehavior::isolated
                                                                    : SplitBehavior::contiguous;
        all.steps.push_back(std::make_unique<Splitting>(
            std::make_unique<CharacterPattern>(is_numeric), behavior, Parts::as_found));
    } else if (type == "Punctuation") {
        part.allow({"behavior"});
        all.steps.push_back(std::make_unique<Splitting>(
            std::make_unique<CharacterPattern>(is_punctuation),
            behavior_of(part, part.text("behavior").value_or("Isolated")), Parts::as_found));
    } else {
        part.refuse_type("ByteLevel, Digits, Metaspace, Punctuation, Sequence and Split");
    }
}

}  // namespace

class PreTokenizers::NextStep final : public PieceSink {
public:
    NextStep(const PreTokenizers& all, std::size_t step, PieceSink& sink)
        : all_(all), step_(step), sink_(sink) {}
    void take(const Piece& piece) override { all_.split_from(step_, piece, sink_); }

private:
    const PreTokenizers& all_;
    const std::size_t step_;
    PieceSink& sink_;
};

void PreTokenizers::split_from(std::size_t step, const Piece& piece, PieceSink& sink) const {
    if (step == steps.size()) return sink.take(piece);
    if (step + 1 == steps.size()) return steps[step]->split(piece, sink);
    NextStep next(*this, step + 1, sink);
    steps[step]->split(piece, next);
}

PreTokenizers make_pre_tokenizers(const JsonPart& part) {
    PreTokenizers all;
    if (!part.is_null()) add_step(part, all);
    return all;
}

}  // namespace lockstep::data
