// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer_json/described_tokens.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "data/bpe/vocabulary.hpp"
#include "data/tokenizer_steps/json_part.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/json_text.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/files/path_status.hpp"

namespace lockstep::data {
namespace {

using Json = nlohmann::json;

std::string path_of(const std::string& folder) { return folder + "/tokenizer_config.json"; }

std::optional<std::int32_t> id_of(const std::string& word) {
    std::int32_t id = no_id;
    const auto read = std::from_chars(word.data(), word.data() + word.size(), id);
    const bool whole = read.ec == std::errc() && read.ptr == word.data() + word.size();
    return whole && id >= 0 && id < id_limit ? std::optional(id) : std::nullopt;
}

// Gives added tokens their ids: that of the vocabulary, or else the one that follows.
class NextIds {
public:
    explicit NextIds(const RawTokenizerFile& file) {
        for (const auto& [piece, id] : file.vocabulary) known_.try_emplace(piece, id);
        const auto pieces = static_cast<std::int32_t>(known_.size());
        next_ = pieces;
        for (const JsonPart& part : JsonPart(file.rest, file.path, "").list("added_tokens")) {
            added_.insert(part.needed_text("content"));
            const std::int64_t id = part.needed_whole("id");
            if (id >= next_ && id < id_limit) next_ = static_cast<std::int32_t>(id) + 1;
        }
    }

    bool is_added(const std::string& content) const { return added_.contains(content); }
    std::int32_t take(const std::string& content) {
        added_.insert(content);
        const auto known = known_.find(content);
        return known != known_.end() ? known->second : next_++;
    }

private:
    std::map<std::string, std::int32_t> known_;
    std::set<std::string> added_;
    std::int32_t next_ = 0;
};

}  // namespace

std::vector<Json> described_tokens(const std::string& folder) {
    const std::string path = path_of(folder);
    if (!path_exists(path)) return {};
    const Json config = try_parse_json(read_json_text(path));
    const JsonPart tokens = JsonPart(config, path, "").member("added_tokens_decoder");
    if (tokens.is_null()) return {};
    if (!tokens.json().is_object()) tokens.refuse("it is not an object of ids and tokens");
    std::map<std::int32_t, Json> by_id;
    for (const auto& [word, token] : tokens.json().items()) {
        const auto id = id_of(word);
        if (!id || !token.is_object())
            tokens.refuse("'" + shown(word) + "' is no id of a token; restore the file");
        Json& described = by_id[*id] = token;
        described.erase("__type");  // transformers 4 wrote its own class's name
        described["id"] = *id;
    }
    std::vector<Json> all;
    for (auto& [id, token] : by_id) all.push_back(std::move(token));
    return all;
}

void add_described_tokens(const std::string& folder, RawTokenizerFile& file) {
    const std::vector<Json> described = described_tokens(folder);
    if (described.empty()) return;
    NextIds ids(file);
    for (const Json& token : described) {
        const JsonPart part(token, path_of(folder), "added_tokens_decoder");
        const std::string content = part.needed_text("content");
        if (ids.is_added(content)) continue;
        const std::int64_t given = part.needed_whole("id"), id = ids.take(content);
        if (given != id)
            part.refuse("the token '" + shown(content) +
                        "', which the tokenizer does not have, has "
                        "the id " +
                        std::to_string(given) + ", but transformers would give it " +
                        std::to_string(id) +
                        "; let transformers load and save the tokenizer, which makes them equal");
        file.rest["added_tokens"].push_back(token);
    }
}

}  // namespace lockstep::data
