// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

// Serialised protocol buffers, of which SentencePiece's models are one.
namespace lockstep::data::protobuf {

struct Field {
    std::uint64_t number = 0;
    std::string_view bytes;   // empty for a number
    std::uint64_t value = 0;  // of a number of any length
};

// Reads the fields of a serialised protocol buffer, one after the other.
class Fields {
public:
    explicit Fields(std::string_view message) : rest_(message) {}

    // Returns nothing at the end, and where the bytes are no message.
    std::optional<Field> next() {
        constexpr std::uint64_t number = 0, eight_bytes = 1, bytes = 2, begin = 3, end = 4;
        constexpr std::uint64_t four_bytes = 5;
        const auto key = varint();
        if (!key) return std::nullopt;
        Field field{.number = *key >> 3, .bytes = {}};
        switch (*key & 7) {
            case number: {
                const auto value = varint();
                if (!value) return std::nullopt;
                field.value = *value;
                return field;
            }
            case eight_bytes:
                return take_number(8, field);
            case bytes: {
                const auto size = varint();
                const auto taken = size ? take(*size) : std::nullopt;
                if (!taken) return std::nullopt;
                field.bytes = *taken;
                return field;
            }
            case begin:
            case end:
                return field;
            case four_bytes:
                return take_number(4, field);
            default:
                return std::nullopt;
        }
    }

private:
    std::optional<std::uint64_t> varint() {
        constexpr int max_bits = 70;  // ten bytes
        std::uint64_t value = 0;
        for (int shift = 0; shift < max_bits && !rest_.empty(); shift += 7) {
            const auto byte = static_cast<unsigned char>(rest_.front());
            rest_.remove_prefix(1);
            if (shift < 64) value |= std::uint64_t{byte & 0x7Fu} << shift;
            if (byte < 0x80) return value;
        }
        return std::nullopt;
    }
    std::optional<std::string_view> take(std::uint64_t bytes) {
        if (bytes > rest_.size()) return std::nullopt;
        const std::string_view taken = rest_.substr(0, bytes);
        rest_.remove_prefix(bytes);
        return taken;
    }

    // Reads little-endian bytes.
    std::optional<Field> take_number(std::uint64_t bytes, Field field) {
        const auto taken = take(bytes);
        if (!taken) return std::nullopt;
        for (std::size_t i = 0; i < taken->size(); ++i)
            field.value |= std::uint64_t{static_cast<unsigned char>((*taken)[i])} << (8 * i);
        return field;
    }

    std::string_view rest_;
};

}  // namespace lockstep::data::protobuf
