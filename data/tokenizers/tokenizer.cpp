// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/tokenizer.hpp"

#include "data/storage/shard_format.hpp"
#include "data/storage/special_tokens_json.hpp"
#include "data/tokenizers/dictionary_tokenizer.hpp"
#include "data/tokenizers/huggingface_tokenizer.hpp"
#include "data/tokenizers/sentencepiece_tokenizer.hpp"
#include "data/tokenizers/tokenizer_file.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/files/hash.hpp"

namespace lockstep::data {
namespace {

std::unique_ptr<Tokenizer> open_named(const std::string& directory, const TokenizerFile& file) {
    const std::string path = directory + "/" + file.file;
    if (file.name == DictionaryTokenizer::tokenizer_name) {
        const auto letter_case = file.letter_case == "lower" ? LetterCase::lower : LetterCase::keep;
        return std::make_unique<DictionaryTokenizer>(Dictionary::load(path, letter_case));
    }
    if (file.name == SentencePieceTokenizer::tokenizer_name)
        return std::make_unique<SentencePieceTokenizer>(SentencePieceTokenizer::load(path));
    if (file.name == huggingface_name) return HuggingfaceTokenizer::open(directory, file);
    throw Error(ErrorKind::data, directory + "/" + tokenizer_file_in(directory) +
                                     ": unknown tokenizer '" + shown(file.name) +
                                     "'; expected re, sentencepiece or huggingface");
}

}  // namespace

std::unique_ptr<Tokenizer> open_tokenizer(const std::string& directory) {
    if (holds_huggingface_tokenizer(directory)) return HuggingfaceTokenizer::load(directory);
    const TokenizerFile file = read_tokenizer_file(directory);
    auto tokenizer = open_named(directory, file);
    if (tokenizer->hash() != file.hash)
        throw Error(ErrorKind::data, directory + "/" + file.file +
                                         ": changed since it was prepared (" +
                                         hex(tokenizer->hash()) + ", written with " +
                                         hex(file.hash) + "); prepare again");
    if (tokenizer->special() != file.special)
        throw Error(ErrorKind::data, directory + "/" + tokenizer_file_in(directory) + ": \"" +
                                         special_tokens_member + "\" are not those of " +
                                         file.file + "; restore the file, or prepare again");
    return tokenizer;
}

}  // namespace lockstep::data
