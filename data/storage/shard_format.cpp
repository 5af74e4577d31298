// SPDX-License-Identifier: Apache-2.0
#include "data/storage/shard_format.hpp"

namespace lockstep::data {
namespace {

std::string five_digits(int number) {
    const std::string digits = std::to_string(number);
    return std::string(digits.size() < 5 ? 5 - digits.size() : 0, '0') + digits;
}

}  // namespace

std::string_view name(DatasetKind kind) noexcept {
    return kind == DatasetKind::dialogue ? "dialogue" : "language_model";
}

std::optional<DatasetKind> dataset_kind(std::string_view text) {
    for (const DatasetKind kind : {DatasetKind::dialogue, DatasetKind::language_model})
        if (name(kind) == text) return kind;
    return std::nullopt;
}

std::string shard_file(std::string_view split, int shard, int shards) {
    return std::string(split) + "-" + five_digits(shard) + "-of-" + five_digits(shards) + ".h5";
}

std::string index_dataset(std::string_view split, int shard) {
    return "/" + std::string(split) + "/" + five_digits(shard);
}

}  // namespace lockstep::data
