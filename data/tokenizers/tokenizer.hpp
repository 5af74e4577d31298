// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::data {

// Every tokenizer has these four, at these places.
struct SpecialTokens {
    std::int32_t null = 0, start = 1, end = 2, unk = 3;
};

// Text to token ids and back. All const members may be called from several threads at once.
class Tokenizer {
public:
    virtual ~Tokenizer() = default;

    // Appends the ids of `text`, UTF-8, without start or end.
    virtual void encode(std::string_view text, std::vector<std::int32_t>& out) const = 0;
    // Text for people; null, start and end are left out.
    virtual std::string decode(std::span<const std::int32_t> ids) const = 0;
    virtual std::int32_t size() const noexcept = 0;
    // Equal hashes: the same text gives the same ids.
    virtual std::uint64_t hash() const noexcept = 0;
    // Writes tokenizer.json and the files it names; open_tokenizer(directory) reads them.
    virtual void save(const std::string& directory) const = 0;
    virtual std::string_view name() const noexcept = 0;

    SpecialTokens special() const noexcept { return {}; }
};

// The tokenizer saved in `directory`: a prepared data directory, or a model's. Throws a data error
// when it is missing or is not the one whose hash was written.
std::unique_ptr<Tokenizer> open_tokenizer(const std::string& directory);

}  // namespace lockstep::data
