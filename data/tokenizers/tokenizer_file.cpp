// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/tokenizer_file.hpp"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "data/storage/foreign_tokenizer.hpp"
#include "data/storage/shard_format.hpp"
#include "data/storage/special_tokens_json.hpp"
#include "data/tokenizer_json/open_pretrained.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_object.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/files/followed_path.hpp"
#include "runtime/files/hash.hpp"
#include "runtime/files/path_status.hpp"

namespace lockstep::data {
namespace {

bool has(const std::string& directory, const char* name) {
    return path_exists(directory + "/" + name);
}

}  // namespace

bool holds_huggingface_tokenizer(const std::string& directory) {
    // Beside a file of Lockstep's own tokenizers, tokenizer.json is their description, also if it
    // is damaged.
    for (const char* own :
         {format::foreign_tokenizer_file, format::dictionary_file, format::sentencepiece_file})
        if (has(directory, own)) return false;
    return tokenizer_in(directory) == FolderTokenizer::pretrained;
}

std::string tokenizer_file_in(const std::string& directory) {
    return has(directory, format::foreign_tokenizer_file) ? format::foreign_tokenizer_file
                                                          : format::tokenizer_file;
}

void write_tokenizer_file(const std::string& directory, const TokenizerFile& content) {
    nlohmann::ordered_json json = {{"tokenizer", content.name},
                                   {"file", content.file},
                                   {"letter_case", content.letter_case},
                                   {"hash", hex(content.hash)},
                                   {special_tokens_member, to_json(content.special)}};
    const bool foreign = content.name == huggingface_name;
    if (foreign) json["model_type"] = content.model_type;
    if (content.reply_begin) json["reply_begin"] = *content.reply_begin;
    const std::string path =
        directory + "/" + (foreign ? format::foreign_tokenizer_file : format::tokenizer_file);
    std::ofstream file(followed_path(path));
    file << dump_json(json, 2) << '\n';
    if (!file.flush()) throw_errno("cannot write", path);
}

void refuse_broken_links(const std::string& directory) {
    for (const char* name : format::foreign_tokenizer_files) {
        const std::string path = directory + "/" + name;
        std::error_code unknown;
        if (std::filesystem::is_symlink(path, unknown) && !path_exists(path))
            throw Error(ErrorKind::data, path + ": is a link to nowhere; fetch the file again");
    }
}

TokenizerFile read_tokenizer_file(const std::string& directory) {
    const std::string path = directory + "/" + tokenizer_file_in(directory);
    if (!path_exists(path)) {
        refuse_broken_links(directory);
        throw Error(ErrorKind::data,
                    directory +
                        ": has no tokenizer: neither one that lockstep prepare has made, nor "
                        "tokenizer.json, vocab.json with merges.txt or tokenizer.model; copy "
                        "what is missing");
    }
    const std::string text =
        read_json_text(path, "cannot read the tokenizer (made by lockstep prepare)");
    const auto json = try_parse_json(text);
    const JsonOrigin origin{path,
                            ": not a tokenizer's description; restore the file, or prepare again"};
    const JsonObject object(json, origin);
    const std::string file = object.text("file"), digits = object.text("hash");
    // A name from elsewhere must not lead out of the folder.
    if (file.empty() || file != std::filesystem::path(file).filename() || file == "..")
        object.refuse("file", "the name of a file in this folder");
    std::uint64_t hash = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), hash, 16);
    if (digits.empty() || read.ec != std::errc() || read.ptr != digits.data() + digits.size())
        object.refuse("hash", "a hexadecimal number");
    constexpr std::int32_t largest = std::numeric_limits<std::int32_t>::max();
    std::optional<std::int32_t> reply_begin;
    if (object.has("reply_begin"))
        reply_begin = object.whole<std::int32_t>("reply_begin", {0, largest});
    return {.name = object.text("tokenizer"),
            .file = file,
            .hash = hash,
            .letter_case = object.text("letter_case"),
            .special = special_tokens_of(object, largest),
            .model_type = object.has("model_type") ? object.text("model_type") : "",
            .reply_begin = reply_begin};
}

}  // namespace lockstep::data
