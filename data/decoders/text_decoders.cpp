// SPDX-License-Identifier: Apache-2.0
#include "data/decoders/text_decoders.hpp"

#include <utility>

#include "data/text/unicode.hpp"
#include "data/tokenizer_steps/found_parts.hpp"
#include "data/tokenizer_steps/metaspace.hpp"

namespace lockstep::data {
namespace {

using Pieces = std::vector<std::string>;

std::string joined(const Pieces& pieces) {
    std::string text;
    for (const std::string& piece : pieces) text += piece;
    return text;
}

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

}  // namespace

DecoderPart make_fuse_decoder(const JsonPart& part) {
    part.allow({});
    return {std::make_unique<Fuse>(), Streaming::byte_fallback};
}

DecoderPart make_strip_decoder(const JsonPart& part) {
    part.allow({"content", "start", "stop"});
    auto strip = std::make_unique<Strip>(part);
    const auto streaming = strip->changes_end() ? Streaming::at_the_end : Streaming::byte_fallback;
    return {std::move(strip), streaming};
}

DecoderPart make_replace_decoder(const JsonPart& part) {
    part.allow({"pattern", "content"});
    return {std::make_unique<ReplaceDecoder>(part), Streaming::byte_fallback};
}

DecoderPart make_metaspace_decoder(const JsonPart& part) {
    return {std::make_unique<MetaspaceDecoder>(read_metaspace(part)), Streaming::byte_fallback};
}

DecoderPart make_suffix_decoder(const JsonPart& part) {
    part.allow({"suffix"});
    const std::string suffix = part.text("suffix").value_or("</w>");
    if (suffix.empty()) part.refuse("\"suffix\" is empty");
    return {std::make_unique<SuffixDecoder>(suffix), Streaming::byte_fallback};
}

}  // namespace lockstep::data
