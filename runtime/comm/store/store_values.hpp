// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace lockstep::comm {

// Keeps the contents of a store: values and counters by name, up to `max_bytes` bytes. One thread
// writes; any thread may read by prefix.
class StoreValues {
public:
    explicit StoreValues(std::size_t max_bytes) : max_bytes_(max_bytes) {}

    // Returns false if there is no room.
    bool set(const std::string& key, std::string value);
    // Returns null if the key is not set. The pointer is valid until the next set().
    const std::string* find(const std::string& key) const;
    // Adds to a counter that starts at 0 and returns the sum; empty if there is no room, or if the
    // sum is too large.
    std::optional<std::int64_t> add(const std::string& key, std::int64_t amount);
    // Any thread may call it.
    std::map<std::string, std::string> with_prefix(const std::string& prefix) const;

private:
    std::size_t max_bytes_;
    std::size_t bytes_ = 0;
    mutable std::mutex mutex_;  // protects values_ from readers on other threads
    std::map<std::string, std::string> values_;
    std::map<std::string, std::int64_t> counters_;
};

}  // namespace lockstep::comm
