// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/dataset_tokenizer.hpp"

#include <string>

#include "data/storage/shard_format.hpp"
#include "data/storage/special_tokens_json.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/files/hash.hpp"

namespace lockstep::data {

std::unique_ptr<Tokenizer> tokenizer_of(const Dataset& dataset) {
    auto tokenizer = open_tokenizer(dataset.directory());
    if (tokenizer->name() != dataset.info().tokenizer)
        throw Error(ErrorKind::data, dataset.directory() + "/" + format::dataset_file +
                                         ": \"tokenizer\" is " + shown(dataset.info().tokenizer) +
                                         ", but " + format::tokenizer_file + " says " +
                                         std::string(tokenizer->name()) + "; prepare again");
    if (hex(tokenizer->hash()) != dataset.dictionary_hash())
        throw Error(ErrorKind::data,
                    dataset.directory() + "/" + format::tokenizer_file +
                        ": not the tokenizer that the shards were made with; prepare again");
    if (tokenizer->size() != dataset.vocabulary())
        throw Error(ErrorKind::data,
                    dataset.directory() + "/" + format::dataset_file + ": \"vocabulary\" is " +
                        std::to_string(dataset.vocabulary()) + ", but the dictionary there has " +
                        std::to_string(tokenizer->size()) + " entries; prepare again");
    if (tokenizer->special() != dataset.special())
        throw Error(ErrorKind::data, dataset.directory() + "/" + format::dataset_file + ": \"" +
                                         special_tokens_member + "\" are not those of " +
                                         format::tokenizer_file + "; prepare again");
    return tokenizer;
}

}  // namespace lockstep::data
