// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer_json/meaning_hash.hpp"

#include <algorithm>

#include "runtime/core/json_text.hpp"
#include "runtime/files/hash.hpp"

namespace lockstep::data {
namespace {

void add_text(const std::string& text, StreamHash& hash) {
    const std::uint64_t bytes = text.size();
    hash.add(&bytes, sizeof bytes);
    hash.add(text.data(), text.size());
}

}  // namespace

std::uint64_t meaning_hash(const RawTokenizerFile& file) {
    nlohmann::json rest = file.rest;
    for (const char* name : {"version", "truncation", "padding"}) rest.erase(name);
    StreamHash hash;
    add_text(dump_json(rest), hash);
    std::vector<const std::pair<std::string, std::int32_t>*> by_id;
    for (const auto& entry : file.vocabulary) by_id.push_back(&entry);
    std::sort(by_id.begin(), by_id.end(),
              [](const auto* a, const auto* b) { return a->second < b->second; });
    for (const auto* entry : by_id) {
        hash.add(&entry->second, sizeof entry->second);
        add_text(entry->first, hash);
    }
    for (const auto& [left, right] : file.merges) {
        add_text(left, hash);
        add_text(right, hash);
    }
    return hash.value();
}

}  // namespace lockstep::data
