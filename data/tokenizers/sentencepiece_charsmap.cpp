// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/sentencepiece_charsmap.hpp"

#include <cstdint>
#include <cstring>

#include "data/text/protobuf_fields.hpp"

namespace lockstep::data {
namespace {

using protobuf::Fields;

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

// The bits of a unit are those of darts.h: 0 to 7 the byte that leads to it, 8 whether a value
// follows, 9 whether the distance in 10 to 30 counts blocks of 256; with bit 31 it is a value.
bool is_sound_array(std::string_view array, std::size_t text_bytes) {
    const std::size_t units = array.size() / sizeof(std::uint32_t);
    for (std::size_t i = 0; i < units; ++i) {
        const std::uint32_t unit = number_at(array, i * sizeof unit);
        // The search begins at the first unit, whatever it is.
        if (i != 0 && unit >> 31 != 0) continue;
        const std::size_t next = i ^ std::size_t{unit >> 10} << ((unit & 1u << 9) >> 6);
        // Any byte may follow.
        if ((next | 0xFF) >= units) return false;
        const std::uint32_t value = number_at(array, next * sizeof unit) & 0x7FFFFFFF;
        if ((unit & 1u << 8) != 0 && value >= text_bytes) return false;
    }
    return true;
}

bool is_sound_charsmap(std::string_view map) {
    constexpr std::size_t block_bytes = 256 * sizeof(std::uint32_t);
    if (map.empty()) return true;
    if (map.size() < sizeof(std::uint32_t)) return false;
    const std::size_t array_bytes = number_at(map, 0);
    map.remove_prefix(sizeof(std::uint32_t));
    return array_bytes > 0 && array_bytes % block_bytes == 0 && array_bytes < map.size() &&
           is_sound_array(map.substr(0, array_bytes), map.size() - array_bytes);
}

bool is_sound_normalizer(std::string_view spec) {
    constexpr std::uint64_t precompiled_charsmap = 2;
    Fields fields(spec);
    while (const auto field = fields.next())
        if (field->number == precompiled_charsmap && !is_sound_charsmap(field->bytes)) return false;
    return true;
}

constexpr std::uint64_t normalizer_spec = 3, denormalizer_spec = 5;

bool spec_normalizes(std::string_view spec) {
    constexpr std::uint64_t precompiled_charsmap = 2, remove_extra_whitespaces = 4;
    bool charsmap = false, removes_spaces = true;  // what SentencePiece does without these fields
    Fields fields(spec);
    while (const auto field = fields.next()) {
        if (field->number == precompiled_charsmap) charsmap = !field->bytes.empty();
        if (field->number == remove_extra_whitespaces) removes_spaces = field->value != 0;
    }
    return charsmap || removes_spaces;
}

}  // namespace

bool model_normalizes(std::string_view model) {
    bool normalizes = true;
    Fields fields(model);
    while (const auto field = fields.next())
        if (field->number == normalizer_spec) normalizes = spec_normalizes(field->bytes);
    return normalizes;
}

bool charsmaps_are_sound(std::string_view model) {
    Fields fields(model);
    while (const auto field = fields.next()) {
        const bool normalizer =
            field->number == normalizer_spec || field->number == denormalizer_spec;
        if (normalizer && !is_sound_normalizer(field->bytes)) return false;
    }
    return true;
}

}  // namespace lockstep::data
