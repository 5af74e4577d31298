// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/dict_file.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>

#include "data/storage/foreign_tokenizer.hpp"
#include "data/storage/shard_format.hpp"
#include "data/tokenizers/sentencepiece_tokenizer.hpp"
#include "data/tokenizers/tokenizer_file.hpp"
#include "runtime/core/error.hpp"
#include "runtime/files/path_status.hpp"

namespace lockstep::data {
namespace {

namespace fs = std::filesystem;

// Returns the description only if it names this file: the folder of a user's own file may contain
// the tokenizer.json of another toolkit.
std::optional<TokenizerFile> description_beside(const fs::path& dict_file) {
    const std::string folder = fs::absolute(dict_file).parent_path();
    if (!path_exists(folder + "/" + format::tokenizer_file)) return std::nullopt;
    try {
        TokenizerFile found = read_tokenizer_file(folder);
        if (found.file == dict_file.filename()) return found;
    } catch (const Error&) {
    }
    return std::nullopt;
}

// A dictionary has a word and a number in a line; the JSON of another toolkit would be read as
// words.
void refuse_foreign_file(const fs::path& dict_file, TokenizerKind kind) {
    if (kind == TokenizerKind::sentencepiece) return;
    const std::string folder = fs::absolute(dict_file).parent_path();
    const bool is_part =
        std::ranges::find(format::foreign_tokenizer_files, dict_file.filename().string()) !=
        std::ranges::end(format::foreign_tokenizer_files);
    if (!is_part && dict_file.extension() != ".json") return;
    throw Error(ErrorKind::config, dict_file.string() +
                                       ": is no dictionary; for the tokenizer of a model give its "
                                       "folder: --like " +
                                       folder);
}

}  // namespace

TokenizerOptions with_kept_tokenizer(TokenizerOptions wanted, Log& log) {
    if (wanted.dict_file.empty()) return wanted;
    std::optional<TokenizerFile> kept;
    if (is_folder(wanted.dict_file)) {
        if (holds_huggingface_tokenizer(wanted.dict_file) ||
            path_exists(wanted.dict_file + "/" + format::foreign_tokenizer_file)) {
            wanted.kind = TokenizerKind::huggingface;
            return wanted;
        }
        kept = read_tokenizer_file(wanted.dict_file);
        wanted.dict_file += "/" + kept->file;
    } else {
        kept = description_beside(wanted.dict_file);
    }
    if (!kept) {
        refuse_foreign_file(wanted.dict_file, wanted.kind);
        return wanted;
    }
    const bool pieces = kept->name == SentencePieceTokenizer::tokenizer_name;
    wanted.kind = pieces ? TokenizerKind::sentencepiece : TokenizerKind::re;
    if (kept->letter_case == "lower") wanted.dictionary.letter_case = LetterCase::lower;
    log.info(wanted.dict_file + ": tokenizer " + kept->name +
             (kept->letter_case == "lower" ? " of lower-cased text" : "") + ", as it was made");
    return wanted;
}

}  // namespace lockstep::data
