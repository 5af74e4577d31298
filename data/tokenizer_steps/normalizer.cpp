// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer_steps/normalizer.hpp"

#include <cstddef>
#include <utility>
#include <vector>

#include "data/patterns/nfc.hpp"
#include "data/text/unicode.hpp"
#include "data/tokenizer_steps/found_parts.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::data {
namespace {

class Nfc final : public Normalizer {
public:
    void normalize(std::string& text) const override {
        if (!unicode::is_ascii(text)) text = nfc(text);
    }
};

class Prepend final : public Normalizer {
public:
    explicit Prepend(std::string begin) : begin_(std::move(begin)) {}
    void normalize(std::string& text) const override {
        if (!text.empty()) text.insert(0, begin_);
    }

private:
    std::string begin_;
};

// The largest text that is read has 16 MiB, and no real tokenizer makes four bytes of one.
constexpr std::size_t longest_bytes = std::size_t{64} << 20;

class Replace final : public Normalizer {
public:
    explicit Replace(const JsonPart& part)
        : pattern_(make_text_pattern(part.member("pattern"))),
          content_(part.needed_text("content")) {}
    void normalize(std::string& text) const override {
        const std::size_t before = text.size();
        text = replaced(text, *pattern_, content_);
        if (text.size() > before && text.size() > longest_bytes)
            throw Error(ErrorKind::data,
                        "the tokenizer's normalizer makes a text longer than " +
                            std::to_string(longest_bytes >> 20) +
                            " MiB, by Replace; take a tokenizer from somebody whom you trust");
    }

private:
    std::unique_ptr<SplitPattern> pattern_;
    std::string content_;
};

class NormalizerSequence final : public Normalizer {
public:
    explicit NormalizerSequence(const JsonPart& part) {
        for (const JsonPart& step : part.list("normalizers")) {
            if (step.is_null()) step.refuse("it is null");
            steps_.push_back(make_normalizer(step));
        }
    }
    void normalize(std::string& text) const override {
        for (const auto& step : steps_) step->normalize(text);
    }

private:
    std::vector<std::unique_ptr<Normalizer>> steps_;
};

}  // namespace

std::unique_ptr<Normalizer> make_normalizer(const JsonPart& part) {
    if (part.is_null()) return nullptr;
    const std::string type = part.type();
    if (type == "NFC") {
        part.allow({});
        return std::make_unique<Nfc>();
    }
    if (type == "Prepend") {
        part.allow({"prepend"});
        return std::make_unique<Prepend>(part.needed_text("prepend"));
    }
    if (type == "Replace") {
        part.allow({"pattern", "content"});
        return std::make_unique<Replace>(part);
    }
    if (type == "Sequence") {
        part.allow({"normalizers"});
        return std::make_unique<NormalizerSequence>(part);
    }
    part.refuse_type("NFC, Prepend, Replace and Sequence");
}

}  // namespace lockstep::data
