// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer_json/open_pretrained.hpp"

#include <filesystem>

#include "data/tokenizer_json/described_tokens.hpp"
#include "data/tokenizer_json/model_file.hpp"
#include "data/tokenizer_json/plain_files.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/read_file.hpp"
#include "runtime/files/path_status.hpp"

namespace lockstep::data {
namespace {

// Lockstep's own tokenizer.json names a file and a few facts; it is always smaller.
constexpr std::uintmax_t largest_own_file_bytes = 1 << 14;

bool is_own(const std::string& path) {
    if (!is_file(path) || std::filesystem::file_size(path) > largest_own_file_bytes) return false;
    const nlohmann::json json = try_parse_json(read_json_text(path));
    return json.is_object() && json.contains("tokenizer") && !json.contains("model");
}

bool has_plain_files(const std::string& folder) {
    return path_exists(folder + "/vocab.json") && path_exists(folder + "/merges.txt");
}

}  // namespace

FolderTokenizer tokenizer_in(const std::string& folder) {
    const std::string path = folder + "/tokenizer.json";
    if (path_exists(path)) return is_own(path) ? FolderTokenizer::own : FolderTokenizer::pretrained;
    const bool readable = has_plain_files(folder) || path_exists(folder + "/tokenizer.model");
    return readable ? FolderTokenizer::pretrained : FolderTokenizer::none;
}

std::unique_ptr<PretrainedTokenizer> open_pretrained_tokenizer(const std::string& folder,
                                                               const std::string& model_type) {
    if (tokenizer_in(folder) != FolderTokenizer::pretrained)
        throw Error(ErrorKind::data, folder +
                                         ": has no tokenizer; expected tokenizer.json, "
                                         "or vocab.json and merges.txt, or tokenizer.model");
    TokenizerFacts facts = read_tokenizer_facts(folder, model_type);
    const std::string path = folder + "/tokenizer.json";
    const bool has_json = path_exists(path);
    if (!has_json && !has_plain_files(folder)) {
        const RawTokenizerFile file = read_model_file(facts);
        return std::make_unique<PretrainedTokenizer>(file, facts);
    }
    RawTokenizerFile file =
        has_json ? parse_tokenizer_file(path, read_file(path)) : read_plain_files(facts);
    add_described_tokens(folder, file);
    const bool subword_nmt = !has_json && kind_of(facts) == "blenderbot-small";
    return std::make_unique<PretrainedTokenizer>(
        file, facts, subword_nmt ? WordRules::subword_nmt : WordRules::by_file);
}

}  // namespace lockstep::data
