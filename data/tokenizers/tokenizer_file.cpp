// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/tokenizer_file.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

#include "data/storage/shard_format.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/hash.hpp"
#include "runtime/core/read_file.hpp"

namespace lockstep::data {
namespace {

std::string path_in(const std::string& directory) {
    return directory + "/" + format::tokenizer_file;
}

}  // namespace

void write_tokenizer_file(const std::string& directory, const TokenizerFile& content) {
    const nlohmann::ordered_json json = {{"tokenizer", content.name},
                                         {"file", content.file},
                                         {"letter_case", content.letter_case},
                                         {"hash", hex(content.hash)}};
    std::ofstream file(path_in(directory));
    file << json.dump(2) << '\n';
    if (!file.flush()) throw_errno("cannot write", path_in(directory));
}

TokenizerFile read_tokenizer_file(const std::string& directory) {
    const std::string path = path_in(directory);
    const std::string text =
        read_file(path, "cannot read the tokenizer (made by lockstep prepare)");
    try {
        const auto json = nlohmann::json::parse(text);
        return {.name = json.at("tokenizer"),
                .file = json.at("file"),
                .hash = std::stoull(json.at("hash").get<std::string>(), nullptr, 16),
                .letter_case = json.at("letter_case")};
    } catch (const std::exception&) {
        throw Error(ErrorKind::data, path + ": not a tokenizer's description; prepare again");
    }
}

}  // namespace lockstep::data
