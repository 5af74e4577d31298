// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer_json/meaning_hash.hpp"

#include <algorithm>
#include <set>

#include "data/tokenizer_json/canonical_form.hpp"
#include "data/tokenizer_steps/json_part.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/files/hash.hpp"

namespace lockstep::data {
namespace {

void add_text(const std::string& text, StreamHash& hash) {
    const std::uint64_t bytes = text.size();
    hash.add(&bytes, sizeof bytes);
    hash.add(text.data(), text.size());
}

using Entry = std::pair<std::string, std::int32_t>;

std::uint64_t hash_of(const RawTokenizerFile& file, const nlohmann::json& rest,
                      const std::set<std::string>& left_out) {
    StreamHash hash;
    add_text(dump_json(rest), hash);
    std::vector<const Entry*> by_id;
    for (const Entry& entry : file.vocabulary)
        if (!left_out.contains(entry.first)) by_id.push_back(&entry);
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
    for (const std::uint32_t rank : file.merge_ranks) hash.add(&rank, sizeof rank);
    for (const std::int32_t id : file.not_in_texts) hash.add(&id, sizeof id);
    return hash.value();
}

// Returns the added tokens that the model itself never makes: files have them in the vocabulary or
// not.
std::set<std::string> only_added(const RawTokenizerFile& file) {
    std::set<std::string> added;
    for (const JsonPart& token : JsonPart(file.rest, file.path, "").list("added_tokens"))
        if (token.flag("special").value_or(false)) added.insert(token.needed_text("content"));
    for (const auto& [left, right] : file.merges) added.erase(left + right);
    return added;
}

}  // namespace

std::uint64_t content_hash(const RawTokenizerFile& file) {
    nlohmann::json rest = file.rest;
    for (const char* name : {"version", "truncation", "padding"}) rest.erase(name);
    return hash_of(file, rest, {});
}

std::uint64_t meaning_hash(const RawTokenizerFile& file) {
    return hash_of(file, canonical_form(file), only_added(file));
}

}  // namespace lockstep::data
