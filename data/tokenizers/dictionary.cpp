// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/dictionary.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>

#include "data/text/fields.hpp"
#include "data/text/git_lfs.hpp"
#include "data/text/unicode.hpp"
#include "runtime/core/error.hpp"
#include "runtime/files/followed_path.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/files/read_lines.hpp"

namespace lockstep::data {
namespace {

constexpr std::array<std::string_view, 4> specials = {"__null__", "__start__", "__end__",
                                                      "__unk__"};
constexpr std::uint64_t first_special_count = 1'000'000'003;

bool is_special(std::string_view token) noexcept {
    return std::find(specials.begin(), specials.end(), token) != specials.end();
}

// Old dictionaries have the specials in upper case.
bool is_old_special(std::string_view token) noexcept {
    return token == "__NULL__" || token == "__START__" || token == "__END__" || token == "__UNK__";
}

std::string escape(std::string_view token) {
    std::string out;
    for (const char c : token) {
        if (c == '\n')
            out += "\\n";
        else if (c == '\t')
            out += "\\t";
        else if (c == '\r')
            out += "\\r";
        else
            out += c;
    }
    return out;
}

std::string unescape(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char next = text[i] == '\\' && i + 1 < text.size() ? text[i + 1] : '\0';
        const char plain = next == 'n' ? '\n' : next == 't' ? '\t' : next == 'r' ? '\r' : '\0';
        out += plain ? plain : text[i];
        if (plain) ++i;
    }
    return out;
}

[[noreturn]] void throw_bad_line(const std::string& path, std::size_t line,
                                 const std::string& what) {
    throw Error(ErrorKind::data, path + ":" + std::to_string(line) + ": " + what +
                                     "; a dictionary has 'token<TAB>count' a line");
}

std::uint64_t parse_count(std::string_view text, const std::string& path, std::size_t line) {
    text = stripped(text);
    std::uint64_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error != std::errc() || end != text.data() + text.size())
        throw_bad_line(path, line, in_quotes(text) + " is not a count");
    return count;
}

void require_text_line(std::string_view line, const std::string& path, std::size_t number) {
    const bool text =
        unicode::first_invalid(line) == line.size() && line.find('\0') == std::string_view::npos;
    if (!text)
        throw_bad_line(path, number,
                       "not UTF-8 text; a SentencePiece model needs --tokenizer sentencepiece");
    // Python would end the line here, and a token writes it as \r.
    if (line.find('\r') != std::string_view::npos)
        throw_bad_line(path, number,
                       "a carriage return inside of the line; if lines end so, convert the file "
                       "with tr '\\r' '\\n'");
}

}  // namespace

Dictionary::Dictionary(std::vector<TokenCount> counts, const DictionaryOptions& options)
    : letter_case_(options.letter_case) {
    std::erase_if(counts, [&](const TokenCount& c) {
        return is_special(c.first) || static_cast<std::int64_t>(c.second) < options.min_freq;
    });
    // UTF-8 bytes compare in the order of code points.
    std::sort(counts.begin(), counts.end(), [](const TokenCount& a, const TokenCount& b) {
        return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    add_specials();
    for (const auto& [token, count] : counts) {
        if (options.max_tokens >= 0 && size() >= options.max_tokens) break;
        index_.add(token);
        counts_.push_back(count);
    }
    finish();
}

Dictionary Dictionary::load(const std::string& path, LetterCase letter_case) {
    if (path_exists(path) && !is_folder(path) && !is_file(path))
        throw Error(ErrorKind::io, path + ": cannot read the dictionary: not a regular file");
    refuse_lfs_pointer(path);
    std::ifstream file(path);
    if (!file) throw_errno("cannot read the dictionary", path);
    Dictionary dictionary(letter_case);
    dictionary.add_specials();
    std::string line;
    for (std::size_t number = 1; read_line(file, line, path, number); ++number) {
        line.resize(line.find_last_not_of('\r') + 1);
        require_text_line(line, path, number);
        const std::string_view all = line;
        const std::size_t tab = all.find('\t');
        const std::string token = unescape(all.substr(0, tab));
        std::uint64_t count = 0;
        if (tab != std::string_view::npos) {
            const std::string_view rest = all.substr(tab + 1);
            count = parse_count(rest.substr(0, rest.find('\t')), path, number);
        }
        // ParlAI adds the specials before it reads the file, and keeps the first of equal tokens.
        if (is_special(token) || is_old_special(token) || dictionary.index_.find(token) >= 0)
            continue;
        dictionary.index_.add(token);
        dictionary.counts_.push_back(count);
    }
    if (file.bad()) throw_errno("cannot read the dictionary", path);
    if (dictionary.size() == static_cast<std::int32_t>(specials.size()))
        throw Error(ErrorKind::data, path + ": the dictionary has no tokens; build it again");
    dictionary.find_special_tokens();
    dictionary.finish();
    return dictionary;
}

void Dictionary::save(const std::string& path) const {
    std::ofstream file(followed_path(path), std::ios::binary);
    for (std::int32_t id = 0; id < size(); ++id)
        file << escape(token(id)) << '\t' << count(id) << '\n';
    if (!file.flush()) throw_errno("cannot write the dictionary", path);
}

void Dictionary::add_specials() {
    for (std::size_t i = 0; i < specials.size(); ++i) {
        index_.add(specials[i]);
        counts_.push_back(first_special_count - i);
    }
}

void Dictionary::find_special_tokens() {
    std::vector<std::pair<std::uint64_t, std::int32_t>> found;
    for (std::int32_t id = 0; id < size(); ++id)
        if (count(id) > first_special_count && !token(id).empty())
            found.emplace_back(count(id), id);
    std::sort(found.begin(), found.end());
    // A text large enough for such counts could have words with them, but not exactly in this
    // sequence.
    for (std::size_t i = 0; i < found.size(); ++i)
        if (found[i].first != first_special_count + 1 + i) return;
    for (const auto& [count, id] : found) special_tokens_.push_back(id);
}

void Dictionary::finish() {
    hash_ = letter_case_ == LetterCase::lower ? 1 : 0;
    for (std::int32_t id = 0; id < size(); ++id) hash_ = hash64(token(id), hash_);
    for (const std::int32_t id : special_tokens_) hash_ = hash64(token(id), hash_);
}

}  // namespace lockstep::data
