// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer_json/decoder.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "data/bpe/byte_alphabet.hpp"
#include "data/text/unicode.hpp"
#include "data/tokenizer_json/found_parts.hpp"
#include "data/tokenizer_json/lossy_utf8.hpp"
#include "data/tokenizer_json/metaspace.hpp"

namespace lockstep::data {
namespace {

using Pieces = std::vector<std::string>;

std::string joined(const Pieces& pieces) {
    std::string text;
    for (const std::string& piece : pieces) text += piece;
    return text;
}

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

class Fuse final : public Decoder {
public:
    void decode(Pieces& pieces) const override { pieces = {joined(pieces)}; }
};

class Strip final : public Decoder {
public:
    explicit Strip(const JsonPart& part)
        : content_(part.needed_text("content")),
          start_(count(part, "start")),
          stop_(count(part, "stop")) {
        if (unicode::decode(content_ + " ").bytes != content_.size())
            part.refuse("\"content\" is not one character");
    }
    void decode(Pieces& pieces) const override {
        for (std::string& piece : pieces) {
            for (std::size_t i = 0; i < start_ && piece.starts_with(content_); ++i)
                piece.erase(0, content_.size());
            for (std::size_t i = 0; i < stop_ && piece.ends_with(content_); ++i)
                piece.resize(piece.size() - content_.size());
        }
    }
    bool changes_end() const noexcept { return stop_ > 0; }

private:
    static std::size_t count(const JsonPart& part, const char* name) {
        const std::int64_t value = part.needed_whole(name);
        if (value < 0) part.refuse("\"" + std::string(name) + "\" is negative");
        return static_cast<std::size_t>(value);
    }

    std::string content_;
    std::size_t start_, stop_;
};

class ReplaceDecoder final : public Decoder {
public:
    explicit ReplaceDecoder(const JsonPart& part)
        : pattern_(make_text_pattern(part.member("pattern"))),
          content_(part.needed_text("content")) {}
    void decode(Pieces& pieces) const override {
        for (std::string& piece : pieces)
            if (!piece.empty()) piece = replaced(piece, *pattern_, content_);
    }

private:
    std::unique_ptr<SplitPattern> pattern_;
    std::string content_;
};

void replace_all(std::string& text, std::string_view from, std::string_view to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
        text.replace(at, from.size(), to);
}

class MetaspaceDecoder final : public Decoder {
public:
    explicit MetaspaceDecoder(MetaspaceOptions options) : options_(std::move(options)) {}
    void decode(Pieces& pieces) const override {
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            const bool drops = i == 0 && options_.scheme != PrependScheme::never;
            replace_all(pieces[i], options_.mark, drops ? "" : " ");
        }
    }

private:
    MetaspaceOptions options_;
};

class SuffixDecoder final : public Decoder {
public:
    explicit SuffixDecoder(std::string suffix) : suffix_(std::move(suffix)) {}
    void decode(Pieces& pieces) const override {
        for (std::size_t i = 0; i < pieces.size(); ++i)
            replace_all(pieces[i], suffix_, i + 1 == pieces.size() ? "" : " ");
    }

private:
    std::string suffix_;
};

class DecoderSequence final : public Decoder {
public:
    explicit DecoderSequence(std::vector<DecoderPart> steps) : steps_(std::move(steps)) {}
    void decode(Pieces& pieces) const override {
        for (const DecoderPart& step : steps_) step.decoder->decode(pieces);
    }

private:
    std::vector<DecoderPart> steps_;
};

DecoderPart make_sequence(const JsonPart& part) {
    part.allow({"decoders"});
    if (part.list("decoders").empty()) part.refuse("\"decoders\" has no steps");
    std::vector<DecoderPart> steps;
    for (const JsonPart& step : part.list("decoders")) {
        if (step.is_null()) step.refuse("it is null");
        steps.push_back(make_decoder(step));
    }
    Streaming streaming = Streaming::byte_fallback;
    for (const DecoderPart& step : steps)
        if (step.streaming != Streaming::byte_fallback) streaming = Streaming::at_the_end;
    if (steps.size() == 1) streaming = steps[0].streaming;
    // What is replaced in the joined text may reach over the border of two tokens.
    const auto& names = part.json()["decoders"];
    const auto has_type = [](const char* type) {
        return [type](const nlohmann::json& step) { return step["type"] == type; };
    };
    const auto fuse = std::find_if(names.begin(), names.end(), has_type("Fuse"));
    if (std::any_of(fuse, names.end(), has_type("Replace"))) streaming = Streaming::at_the_end;
    return {std::make_unique<DecoderSequence>(std::move(steps)), streaming};
}

DecoderPart make_strip(const JsonPart& part) {
    part.allow({"content", "start", "stop"});
    auto strip = std::make_unique<Strip>(part);
    const auto streaming = strip->changes_end() ? Streaming::at_the_end : Streaming::byte_fallback;
    return {std::move(strip), streaming};
}

}  // namespace

std::string bytes_of_piece(std::string_view piece) {
    if (auto bytes = bytes_of_characters(piece)) return *std::move(bytes);
    return std::string(piece);
}

DecoderPart make_decoder(const JsonPart& part) {
    if (part.is_null()) return {};
    const std::string type = part.type();
    if (type == "Sequence") return make_sequence(part);
    if (type == "Strip") return make_strip(part);
    if (type == "ByteLevel") {
        part.allow({"add_prefix_space", "trim_offsets", "use_regex"});
        return {std::make_unique<ByteLevelDecoder>(), Streaming::bytes};
    }
    if (type == "ByteFallback") {
        part.allow({});
        return {std::make_unique<ByteFallbackDecoder>()};
    }
    if (type == "Fuse") {
        part.allow({});
        return {std::make_unique<Fuse>()};
    }
    if (type == "Replace") {
        part.allow({"pattern", "content"});
        return {std::make_unique<ReplaceDecoder>(part)};
    }
    if (type == "Metaspace") return {std::make_unique<MetaspaceDecoder>(read_metaspace(part))};
    if (type == "BPEDecoder") {
        part.allow({"suffix"});
        const std::string suffix = part.text("suffix").value_or("</w>");
        if (suffix.empty()) part.refuse("\"suffix\" is empty");
        return {std::make_unique<SuffixDecoder>(suffix)};
    }
    part.refuse_type(
        "BPEDecoder, ByteFallback, ByteLevel, Fuse, Metaspace, Replace, Sequence and Strip");
}

}  // namespace lockstep::data
