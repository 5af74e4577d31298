// SPDX-License-Identifier: Apache-2.0
#include "data/storage/verify_shard.hpp"

#include <string>

#include "runtime/core/error.hpp"
#include "runtime/core/hash.hpp"
#include "runtime/core/read_file.hpp"

namespace lockstep::data {

Verification verify_shard(const Dataset& dataset, const ShardInfo& shard,
                          Clock::time_point deadline) {
    if (shard.xxh3.empty()) return Verification::unknown;
    const std::string path = dataset.shard_path(shard);
    StreamHash hash;
    const Reading reading = read_blocks_while(path, "cannot be read", [&](std::string_view block) {
        hash.add(block.data(), block.size());
        return Clock::now() < deadline ? Reading::goes_on : Reading::stopped;
    });
    if (reading == Reading::stopped) return Verification::out_of_time;
    if (hex(hash.value()) == shard.xxh3) return Verification::same;
    throw Error(ErrorKind::data, path + ": is not the file that prepare wrote (its XXH3 hash is " +
                                     hex(hash.value()) + ", not " + shard.xxh3 +
                                     "); restore the file, or run 'lockstep prepare' again");
}

}  // namespace lockstep::data
