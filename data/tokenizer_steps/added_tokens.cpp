// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer_steps/added_tokens.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "data/tokenizer_steps/word_characters.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::data {
namespace {

AddedToken read_token(const JsonPart& part) {
    part.allow({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    const std::int64_t id = part.needed_whole("id");
    if (id < 0 || id >= id_limit)
        part.refuse("\"id\" is " + std::to_string(id) + "; ids are whole numbers from 0 to " +
                    std::to_string(id_limit - 1));
    AddedToken token{.id = static_cast<std::int32_t>(id),
                     .content = part.needed_text("content"),
                     .single_word = part.flag("single_word").value_or(false),
                     .lstrip = part.flag("lstrip").value_or(false),
                     .rstrip = part.flag("rstrip").value_or(false),
                     .normalized = part.flag("normalized").value_or(true),
                     .special = part.flag("special").value_or(false),
                     .in_texts = true,
                     .decoded = {}};
    if (token.content.empty()) part.refuse("\"content\" is empty");
    return token;
}

}  // namespace

AddedTokens::AddedTokens(const JsonPart& file, const Vocabulary& vocabulary) {
    std::set<std::string> contents;
    for (const JsonPart& part : file.list("added_tokens")) {
        AddedToken token = read_token(part);
        if (!contents.insert(token.content).second)
            part.refuse("the token '" + shown(token.content) + "' is there twice");
        if (!by_id_.try_emplace(token.id, tokens_.size()).second)
            part.refuse("the id " + std::to_string(token.id) + " is there twice");
        tokens_.push_back(std::move(token));
    }
    check_ids(file, vocabulary);
}

void AddedTokens::check_ids(const JsonPart& file, const Vocabulary& vocabulary) const {
    const auto pieces = static_cast<std::int32_t>(vocabulary.pieces());
    std::int32_t largest = no_id;
    for (const AddedToken& token : tokens_) {
        std::int32_t id = vocabulary.find(token.content);
        if (id == no_id) id = largest >= pieces ? largest + 1 : pieces;
        largest = std::max(largest, id);
        if (id == token.id) continue;
        file.refuse("the added token '" + shown(token.content) + "' has the id " +
                    std::to_string(token.id) + ", but transformers would give it " +
                    std::to_string(id) +
                    "; let transformers load and save the tokenizer, which makes them equal");
    }
}

void AddedTokens::leave_out_of_texts(const std::vector<std::int32_t>& ids) {
    for (const std::int32_t id : ids) tokens_[by_id_.at(id)].in_texts = false;
}

void AddedTokens::read_normalized(const Normalizer* normalizer) {
    for (const bool special : {true, false}) {
        for (std::size_t i = 0; i < tokens_.size(); ++i) {
            AddedToken& token = tokens_[i];
            if (token.special != special) continue;
            token.decoded = token.content;
            if (token.normalized && normalizer != nullptr) normalizer->normalize(token.decoded);
            if (!token.in_texts) continue;
            (token.normalized ? normalized_ : given_)
                .add(token.decoded, static_cast<std::int32_t>(i));
            if (token.special || !token.normalized)
                marked_.add(token.content, static_cast<std::int32_t>(i));
        }
    }
}

bool AddedTokens::stands_alone(const AddedToken& token, std::string_view before,
                               std::string_view behind) const noexcept {
    return !token.single_word ||
           (!ends_with_word_character(before) && !starts_with_word_character(behind));
}

void AddedTokens::split(const Piece& text, Stage stage, SpecialsInText specials,
                        SectionSink& sink) const {
    split(
        text, stage == Stage::given ? given_ : normalized_,
        [&](const AddedToken& token, const TokenTrie::Match&) {
            return specials == SpecialsInText::tokens || !token.special;
        },
        sink);
}

void AddedTokens::split(const Piece& text, std::span<const TextRange> words,
                        SectionSink& sink) const {
    std::size_t next = 0;  // the first of the words that ends behind the match
    split(
        text, marked_,
        [&](const AddedToken& token, const TokenTrie::Match& match) {
            while (next < words.size() && words[next].end <= match.begin) ++next;
            const bool touches = next < words.size() && words[next].begin < match.end;
            return !token.special || !touches;
        },
        sink);
}

void AddedTokens::split(const Piece& text, const TokenTrie& trie, const Taken& taken,
                        SectionSink& sink) const {
    const std::string_view all = text.text;
    std::size_t done = 0;
    const auto give = [&](std::size_t begin, std::size_t end) {
        if (begin >= end) return;
        sink.take_text(
            {all.substr(begin, end - begin), begin == 0 ? text.place : Piece::Place::later});
    };
    for (auto match = trie.find(all, 0); match.number >= 0; match = trie.find(all, match.end)) {
        const AddedToken& token = tokens_[static_cast<std::size_t>(match.number)];
        if (!taken(token, match)) continue;
        const std::string_view before = all.substr(0, match.begin);
        const std::string_view behind = all.substr(match.end);
        if (!stands_alone(token, before, behind)) continue;
        std::size_t begin = match.begin, end = match.end;
        if (token.lstrip) begin = std::max(done, begin - spaces_at_end(before));
        if (token.rstrip) end += spaces_at_begin(behind);
        give(done, begin);
        sink.take_token(token.id);
        done = end;
    }
    give(done, all.size());
}

const AddedToken* AddedTokens::find(std::int32_t id) const noexcept {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : &tokens_[found->second];
}

}  // namespace lockstep::data
