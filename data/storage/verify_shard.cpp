// SPDX-License-Identifier: Apache-2.0
#include "data/storage/verify_shard.hpp"

#include <string>

#include "data/storage/shard_format.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/read_file.hpp"
#include "runtime/files/hash.hpp"

namespace lockstep::data {

namespace {

Verification verify(const std::string& path, const std::string& xxh3, Clock::time_point deadline) {
    if (xxh3.empty()) return Verification::unknown;
    StreamHash hash;
    const Reading reading = read_blocks_while(path, "cannot be read", [&](std::string_view block) {
        hash.add(block.data(), block.size());
        return Clock::now() < deadline ? Reading::goes_on : Reading::stopped;
    });
    if (reading == Reading::stopped) return Verification::out_of_time;
    if (hex(hash.value()) == xxh3) return Verification::same;
    throw Error(ErrorKind::data, path + ": is not the file that prepare wrote (its XXH3 hash is " +
                                     hex(hash.value()) + ", not " + xxh3 + ")" + restore_remedy);
}

}  // namespace

Verification verify_shard(const Dataset& dataset, const ShardInfo& shard,
                          Clock::time_point deadline) {
    return verify(dataset.shard_path(shard), shard.xxh3, deadline);
}

Verification verify_index(const Dataset& dataset) {
    return verify(dataset.directory() + "/" + format::index_file, dataset.info().index_xxh3,
                  Clock::time_point::max());
}

}  // namespace lockstep::data
