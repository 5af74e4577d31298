// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer_json/open_pretrained.hpp"

#include <filesystem>

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

[[noreturn]] void refuse_folder(const std::string& folder) {
    const bool has_model = path_exists(folder + "/tokenizer.model");
    throw Error(ErrorKind::data,
                folder + ": has no tokenizer" +
                    (has_model ? " but tokenizer.model, which is not read yet; let transformers "
                                 "load and save the tokenizer, which writes tokenizer.json"
                               : "; expected tokenizer.json, or vocab.json and merges.txt"));
}

}  // namespace

FolderTokenizer tokenizer_in(const std::string& folder) {
    const std::string path = folder + "/tokenizer.json";
    if (path_exists(path)) return is_own(path) ? FolderTokenizer::own : FolderTokenizer::pretrained;
    const bool plain = path_exists(folder + "/vocab.json") && path_exists(folder + "/merges.txt");
    return plain ? FolderTokenizer::pretrained : FolderTokenizer::none;
}

std::unique_ptr<PretrainedTokenizer> open_pretrained_tokenizer(const std::string& folder,
                                                               const std::string& model_type) {
    if (tokenizer_in(folder) != FolderTokenizer::pretrained) refuse_folder(folder);
    const TokenizerFacts facts = read_tokenizer_facts(folder, model_type);
    const std::string path = folder + "/tokenizer.json";
    if (path_exists(path))
        return std::make_unique<PretrainedTokenizer>(parse_tokenizer_file(path, read_file(path)),
                                                     facts);
    const auto rules =
        kind_of(facts) == "blenderbot-small" ? WordRules::subword_nmt : WordRules::by_file;
    return std::make_unique<PretrainedTokenizer>(read_plain_files(facts), facts, rules);
}

}  // namespace lockstep::data
