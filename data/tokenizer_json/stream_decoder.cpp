// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer_json/stream_decoder.hpp"

#include "data/decoders/byte_decoders.hpp"
#include "data/decoders/lossy_utf8.hpp"

namespace lockstep::data {
namespace {

bool may_be_byte(std::string_view piece) noexcept {
    return piece.size() == 6 && piece.starts_with("<0x");
}

}  // namespace

std::string StreamDecoder::text_beyond() {
    std::string text = tokenizer_.decode(ids_, skip_);
    text.erase(0, given_);
    given_ += text.size();
    return text;
}

std::string StreamDecoder::add(std::int32_t id) {
    const auto piece = tokenizer_.decoded_piece(id);
    if (!piece || (skip_ == SkipSpecial::yes && tokenizer_.is_special(id))) return "";
    if (tokenizer_.streaming() == Streaming::bytes) {
        bytes_ += bytes_of_piece(*piece);
        const std::size_t held = incomplete_bytes(bytes_);
        std::string text = lossy_utf8(std::string_view(bytes_).substr(0, bytes_.size() - held));
        bytes_.erase(0, bytes_.size() - held);
        return text;
    }
    ids_.push_back(id);
    const bool changes = tokenizer_.streaming() == Streaming::at_the_end || may_be_byte(*piece);
    return changes ? "" : text_beyond();
}

std::string StreamDecoder::finish() {
    std::string text =
        tokenizer_.streaming() == Streaming::bytes ? lossy_utf8(bytes_) : text_beyond();
    bytes_.clear();
    ids_.clear();
    given_ = 0;
    return text;
}

}  // namespace lockstep::data
