// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/dictionary_tokenizer.hpp"

#include "data/storage/shard_format.hpp"
#include "data/tokenizers/re_split.hpp"
#include "data/tokenizers/tokenizer_file.hpp"

namespace lockstep::data {

void DictionaryTokenizer::encode(std::string_view text, std::vector<std::int32_t>& out) const {
    encode(text, dictionary_.special_tokens(), Names::words, out);
}

void DictionaryTokenizer::encode_delimiter(std::string_view text,
                                           std::vector<std::int32_t>& out) const {
    encode(text, dictionary_.special_tokens(), Names::specials, out);
}

// ParlAI searches for each of them in turn, so the first in the list wins if two overlap.
void DictionaryTokenizer::encode(std::string_view text,
                                 std::span<const std::int32_t> special_tokens, Names names,
                                 std::vector<std::int32_t>& out) const {
    if (special_tokens.empty()) return encode_words(text, names, out);
    const std::int32_t id = special_tokens.front();
    const std::string_view token = dictionary_.token(id);
    for (std::size_t at; (at = text.find(token)) != std::string_view::npos;) {
        encode(text.substr(0, at), special_tokens.subspan(1), names, out);
        out.push_back(id);
        text.remove_prefix(at + token.size());
    }
    encode(text, special_tokens.subspan(1), names, out);
}

void DictionaryTokenizer::encode_words(std::string_view text, Names names,
                                       std::vector<std::int32_t>& out) const {
    // A label that had __end__ inside would teach a model to stop there.
    const std::int32_t first = *(names == Names::words ? special_.unk : special_.null);
    const auto look_up = [&](std::string_view token) {
        const std::int32_t id = dictionary_.find(token);
        out.push_back(id < first ? *special_.unk : id);
    };
    if (dictionary_.letter_case() == LetterCase::lower)
        for_each_token(unicode::lower(text), look_up);
    else
        for_each_token(text, look_up);
}

void DictionaryTokenizer::find_specials(
    std::string_view text,
    const std::function<void(std::string_view name, std::size_t offset)>& found) const {
    if (text.find("__") == std::string_view::npos) return;
    const bool lower = dictionary_.letter_case() == LetterCase::lower;
    for_each_token(text, [&](std::string_view token) {
        if (!token.starts_with("__")) return;
        const std::int32_t id =
            dictionary_.find(lower ? unicode::lower(token) : std::string(token));
        const std::string_view name = dictionary_.token(id);
        const bool is_name = lower ? unicode::lower(token) == name : token == name;
        if (id <= *special_.unk && is_name)
            found(token, static_cast<std::size_t>(token.data() - text.data()));
    });
}

std::string DictionaryTokenizer::decode(std::span<const std::int32_t> ids) const {
    std::string out;
    for (const std::int32_t id : ids) {
        if (id < *special_.unk) continue;
        if (!out.empty()) out += ' ';
        out += dictionary_.token(id);
    }
    return out;
}

std::vector<std::string> DictionaryTokenizer::save(const std::string& directory) const {
    dictionary_.save(directory + "/" + format::dictionary_file);
    const bool lower = dictionary_.letter_case() == LetterCase::lower;
    write_tokenizer_file(directory, {.name = std::string(name()),
                                     .file = format::dictionary_file,
                                     .hash = hash(),
                                     .letter_case = lower ? "lower" : "keep",
                                     .special = special_});
    return {format::dictionary_file, format::tokenizer_file};
}

}  // namespace lockstep::data
