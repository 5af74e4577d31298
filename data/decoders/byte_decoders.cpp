// SPDX-License-Identifier: Apache-2.0
#include "data/decoders/byte_decoders.hpp"

#include <charconv>
#include <utility>

#include "data/bpe/byte_alphabet.hpp"
#include "data/decoders/lossy_utf8.hpp"
#include "data/text/unicode.hpp"

namespace lockstep::data {
namespace {

using Pieces = std::vector<std::string>;

class ByteLevelDecoder final : public Decoder {
public:
    void decode(Pieces& pieces) const override {
        std::string bytes;
        for (const std::string& piece : pieces) bytes += bytes_of_piece(piece);
        pieces = {lossy_utf8(bytes)};
    }
};

// Returns the byte of a piece <0xNN>; -1 for any other piece.
int byte_of(std::string_view piece) noexcept {
    if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>') return -1;
    int byte = 0;
    const auto read = std::from_chars(piece.data() + 3, piece.data() + 5, byte, 16);
    return read.ec == std::errc() && read.ptr == piece.data() + 5 ? byte : -1;
}

// Bytes that are no UTF-8 together become as many U+FFFD.
class ByteFallbackDecoder final : public Decoder {
public:
    void decode(Pieces& pieces) const override {
        Pieces result;
        std::string bytes;
        const auto end_bytes = [&] {
            if (unicode::first_invalid(bytes) == bytes.size()) {
                if (!bytes.empty()) result.push_back(bytes);
            } else {
                result.insert(result.end(), bytes.size(), "\xEF\xBF\xBD");
            }
            bytes.clear();
        };
        for (std::string& piece : pieces) {
            const int byte = byte_of(piece);
            if (byte >= 0) {
                bytes += static_cast<char>(byte);
                continue;
            }
            end_bytes();
            result.push_back(std::move(piece));
        }
        end_bytes();
        pieces = std::move(result);
    }
};

}  // namespace

std::string bytes_of_piece(std::string_view piece) {
    if (auto bytes = bytes_of_characters(piece)) return *std::move(bytes);
    return std::string(piece);
}

DecoderPart make_byte_level_decoder(const JsonPart& part) {
    part.allow({"add_prefix_space", "trim_offsets", "use_regex"});
    return {std::make_unique<ByteLevelDecoder>(), Streaming::bytes};
}

DecoderPart make_byte_fallback_decoder(const JsonPart& part) {
    part.allow({});
    return {std::make_unique<ByteFallbackDecoder>(), Streaming::byte_fallback};
}

}  // namespace lockstep::data
