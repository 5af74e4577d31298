// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "data/text/unicode.hpp"
#include "data/tokenizer_json/open_pretrained.hpp"
#include "data/tokenizers/tokenizer.hpp"
#include "launcher/command_line/command_line.hpp"
#include "launcher/generate/prompts.hpp"
#include "launcher/model_folder/tokenizer_folder.hpp"
#include "launcher/programs/programs.hpp"
#include "launcher/text/terminal.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/core/read_file.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/files/read_lines.hpp"

namespace lockstep::launcher {

namespace {

using Json = nlohmann::ordered_json;
using Ids = std::vector<std::int32_t>;

// lines: each line is a text. jsonl: each line is a JSON string or {"text": "..."}, or ids as a
// list or {"ids": [...]}. whole: the input is one text.
enum class TextFormat { lines, jsonl, whole };

struct TokenizeOptions {
    std::string folder, input;
    bool json = false, decode = false;
    bool add_special_tokens = true, skip_special_tokens = true, split_special_tokens = false;
    TextFormat format = TextFormat::lines;
};

// A tokenizer of either kind.
class Codec {
public:
    virtual ~Codec() = default;
    virtual Ids encode(const std::string& text) const = 0;
    virtual std::string decode(const Ids& ids) const = 0;
    virtual std::string piece(std::int32_t id) const = 0;
    virtual std::int32_t size() const = 0;
};

class PretrainedCodec final : public Codec {
public:
    explicit PretrainedCodec(const TokenizeOptions& options)
        : tokenizer_(data::open_pretrained_tokenizer(options.folder)),
          skip_(options.skip_special_tokens ? data::SkipSpecial::yes : data::SkipSpecial::no) {
        if (options.add_special_tokens) encode_.add_special = data::AddSpecial::yes;
        if (!options.split_special_tokens) encode_.specials_in_text = data::SpecialsInText::tokens;
        for (const std::string& note : tokenizer_->notes()) std::cerr << printable(note) << '\n';
    }
    Ids encode(const std::string& text) const override { return tokenizer_->encode(text, encode_); }
    std::string decode(const Ids& ids) const override { return tokenizer_->decode(ids, skip_); }
    std::string piece(std::int32_t id) const override {
        return std::string(tokenizer_->piece(id).value_or(""));
    }
    std::int32_t size() const override { return tokenizer_->size(); }

private:
    std::unique_ptr<data::PretrainedTokenizer> tokenizer_;
    data::EncodeOptions encode_;
    data::SkipSpecial skip_;
};

// The tokenizer of prepared data or of a model that was trained on it.
class OwnCodec final : public Codec {
public:
    explicit OwnCodec(const std::string& folder) : tokenizer_(data::open_tokenizer(folder)) {}
    Ids encode(const std::string& text) const override {
        Ids ids;
        tokenizer_->encode(text, ids);
        return ids;
    }
    std::string decode(const Ids& ids) const override { return tokenizer_->decode(ids); }
    std::string piece(std::int32_t id) const override { return decode({id}); }
    std::int32_t size() const override { return tokenizer_->size(); }

private:
    std::unique_ptr<data::Tokenizer> tokenizer_;
};

std::unique_ptr<Codec> open_codec(const TokenizeOptions& options, const CommandLine& line) {
    if (!is_folder(options.folder))
        throw Error(ErrorKind::config, "--model-file " + options.folder + ": is no folder");
    if (data::tokenizer_in(options.folder) != data::FolderTokenizer::own)
        return std::make_unique<PretrainedCodec>(options);
    for (const char* name : {"add-special-tokens", "skip-special-tokens", "split-special-tokens"})
        if (line.given.contains(name))
            throw Error(ErrorKind::config, std::string("--") + name +
                                               ": is for tokenizers of Hugging Face; that in " +
                                               options.folder + " has no special tokens in texts");
    return std::make_unique<OwnCodec>(options.folder);
}

[[noreturn]] void refuse_line(const std::string& where, const std::string& what) {
    throw Error(ErrorKind::data, where + ": " + what);
}

nlohmann::json json_of(const std::string& line, const std::string& where) {
    const std::string excess = json_excess(line);
    if (!excess.empty()) refuse_line(where, excess);
    nlohmann::json json = try_parse_json(line);
    if (json.is_discarded()) refuse_line(where, "is not JSON");
    return json;
}

std::string text_of(const std::string& line, TextFormat format, const std::string& where) {
    if (format != TextFormat::jsonl) {
        const std::size_t wrong = data::unicode::first_invalid(line);
        if (wrong != line.size())
            refuse_line(where, "is not UTF-8, at its byte " + std::to_string(wrong + 1));
        return line;
    }
    const nlohmann::json json = json_of(line, where);
    const nlohmann::json text = json.is_object() ? json.value("text", nlohmann::json()) : json;
    if (!text.is_string()) refuse_line(where, R"(is neither a JSON string nor {"text": "..."})");
    return text.get<std::string>();
}

[[noreturn]] void refuse_id(const std::string& where, const std::string& word, const Codec& codec) {
    refuse_line(where, "'" + shown(word) + "' is not an id; the tokenizer has 0 to " +
                           std::to_string(codec.size() - 1));
}

Ids ids_of_json(const std::string& line, const std::string& where, const Codec& codec) {
    const nlohmann::json json = json_of(line, where);
    const nlohmann::json list = json.is_object() ? json.value("ids", nlohmann::json()) : json;
    if (!list.is_array()) refuse_line(where, R"(is neither a list of ids nor {"ids": [...]})");
    Ids ids;
    for (const nlohmann::json& id : list) {
        const bool known = id.is_number_unsigned() &&
                           id.get<std::uint64_t>() < static_cast<std::uint64_t>(codec.size());
        if (!known) refuse_id(where, dump_json(id), codec);
        ids.push_back(id.get<std::int32_t>());
    }
    return ids;
}

Ids ids_of(const std::string& line, TextFormat format, const std::string& where,
           const Codec& codec) {
    if (format == TextFormat::jsonl || line.starts_with('[') || line.starts_with('{'))
        return ids_of_json(line, where, codec);
    Ids ids;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
        std::int32_t id = -1;
        const auto read = std::from_chars(word.data(), word.data() + word.size(), id);
        const bool known = read.ec == std::errc() && read.ptr == word.data() + word.size() &&
                           id >= 0 && id < codec.size();
        if (!known) refuse_id(where, word, codec);
        ids.push_back(id);
    }
    return ids;
}

std::string encoded(const Ids& ids, const TokenizeOptions& options, const Codec& codec) {
    if (!options.json) {
        std::string text;
        for (const std::int32_t id : ids) text += (text.empty() ? "" : " ") + std::to_string(id);
        return text;
    }
    Json pieces = Json::array();
    for (const std::int32_t id : ids) pieces.push_back(codec.piece(id));
    return dump_json(Json{{"ids", ids}, {"pieces", std::move(pieces)}});
}

std::string decoded(std::string text, const TokenizeOptions& options) {
    if (options.json) return dump_json(Json{{"text", std::move(text)}});
    if (options.format == TextFormat::whole) return text;
    text = on_one_line(std::move(text));
    return output_kind() == OutputKind::terminal ? printable_lines(text) : text;
}

std::string answer_to(const std::string& line, const TokenizeOptions& options,
                      const std::string& where, const Codec& codec) {
    if (options.decode)
        return decoded(codec.decode(ids_of(line, options.format, where, codec)), options);
    return encoded(codec.encode(text_of(line, options.format, where)), options, codec);
}

std::string whole_text(std::istream& in, const std::string& origin) {
    std::string text;
    constexpr std::size_t block = 1 << 16;
    for (std::string part(block, '\0'); in;
         text.append(part, 0, static_cast<std::size_t>(in.gcount()))) {
        in.read(part.data(), static_cast<std::streamsize>(block));
        if (text.size() > largest_small_file_bytes)
            refuse_line(origin, "is larger than 64 MiB; give a part of it, or lines");
    }
    return text;
}

void answer_all(std::istream& in, const std::string& origin, const TokenizeOptions& options,
                const Codec& codec) {
    if (options.format == TextFormat::whole) {
        std::cout << answer_to(whole_text(in, origin), options, origin, codec) << '\n';
        return flush_output();
    }
    // Somebody may wait for each answer before the next line comes.
    const bool one_by_one = options.input.empty();
    std::string line;
    for (std::uint64_t number = 1; read_line(in, line, origin, number); ++number) {
        if (!line.empty() && line.back() == '\r') line.pop_back();
        const std::string where = origin + ":" + std::to_string(number);
        std::cout << answer_to(line, options, where, codec) << '\n';
        if (one_by_one) flush_output();
    }
    if (in.bad()) throw_errno("cannot be read to its end", origin);
    flush_output();
}

bool takes_value(const std::string& word) {
    for (const char* flag : {"--json", "--decode", "--add-special-tokens", "--skip-special-tokens",
                             "--split-special-tokens"})
        if (word == flag) return false;
    return word.starts_with("-") && word.find('=') == std::string::npos;
}

// Inserts --input before a file that is named by itself, as the first word or the last one.
std::vector<std::string> with_input(std::vector<std::string> words) {
    if (words.empty()) return words;
    if (!words.front().starts_with("-")) {
        words.insert(words.begin(), "--input");
        return words;
    }
    const std::string last = words.back();
    if (words.size() < 2 || last.starts_with("-") || is_bool_word(last) ||
        takes_value(words[words.size() - 2]))
        return words;
    words.insert(words.end() - 1, "--input");
    return words;
}

OptionTable tokenize_table(TokenizeOptions& options) {
    OptionTable table("Tokenize");
    table.text("model-file,mf", options.folder, "DIR",
               "a model's folder, of Hugging Face or of Lockstep, or prepared data");
    table.text("input", options.input, "FILE", "texts or ids; default: standard input");
    table.choice(
        "format", options.format,
        {{"lines", TextFormat::lines}, {"jsonl", TextFormat::jsonl}, {"whole", TextFormat::whole}},
        "each line is a text or a list of ids; each line is JSON of one; the whole input "
        "is one text");
    table.flag("json", options.json, "answers as JSON: ids and pieces, or with --decode text");
    table.flag("decode", options.decode, "ids to texts");
    table.flag("add-special-tokens", options.add_special_tokens,
               "adds what the tokenizer puts around a text, such as <s>");
    table.flag("skip-special-tokens", options.skip_special_tokens,
               "leaves special tokens out of decoded texts");
    table.flag("split-special-tokens", options.split_special_tokens,
               "takes the name of a special token in a text for text");
    return table;
}

}  // namespace

int tokenize_program(const std::vector<std::string>& args) {
    TokenizeOptions options;
    const auto line = parse_or_answer(
        "lockstep tokenize -mf DIR [--json] [--decode] [FILE]\n"
        "Texts to the ids of tokens, a line each, and back.\n",
        with_input(args), {tokenize_table(options)});
    if (!line) return 0;
    if (options.folder.empty())
        throw Error(ErrorKind::config, "--model-file: name the folder of a tokenizer");
    options.folder = folder_of_tokenizer(options.folder);
    const auto codec = open_codec(options, *line);
    if (options.input.empty()) {
        answer_all(std::cin, "standard input", options, *codec);
        return 0;
    }
    if (is_folder(options.input))
        throw Error(ErrorKind::config, "--input " + options.input + ": is a folder, not a file");
    std::ifstream file(options.input);
    if (!file) throw_errno("--input cannot be read", options.input);
    answer_all(file, options.input, options, *codec);
    return 0;
}

}  // namespace lockstep::launcher
