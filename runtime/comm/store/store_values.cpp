// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/store/store_values.hpp"

#include <utility>

namespace lockstep::comm {

bool StoreValues::set(const std::string& key, std::string value) {
    const auto entry = values_.find(key);
    const std::size_t freed = entry == values_.end() ? 0 : key.size() + entry->second.size();
    const std::size_t total = bytes_ - freed + key.size() + value.size();
    if (total > max_bytes_) return false;
    bytes_ = total;
    const std::lock_guard lock(mutex_);
    values_[key] = std::move(value);
    return true;
}

const std::string* StoreValues::find(const std::string& key) const {
    const auto entry = values_.find(key);
    return entry == values_.end() ? nullptr : &entry->second;
}

std::optional<std::int64_t> StoreValues::add(const std::string& key, std::int64_t amount) {
    const auto entry = counters_.find(key);
    if (entry != counters_.end()) {
        std::int64_t sum = 0;
        if (__builtin_add_overflow(entry->second, amount, &sum)) return std::nullopt;
        return entry->second = sum;
    }
    if (bytes_ + key.size() > max_bytes_) return std::nullopt;
    bytes_ += key.size();
    return counters_[key] = amount;
}

std::map<std::string, std::string> StoreValues::with_prefix(const std::string& prefix) const {
    const std::lock_guard lock(mutex_);
    std::map<std::string, std::string> found;
    for (auto it = values_.lower_bound(prefix);
         it != values_.end() && it->first.starts_with(prefix); ++it) {
        found.insert(*it);
    }
    return found;
}

}  // namespace lockstep::comm
