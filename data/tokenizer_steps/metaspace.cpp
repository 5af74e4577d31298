// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer_steps/metaspace.hpp"

#include <utility>

#include "data/text/unicode.hpp"
#include "data/tokenizer_steps/split_behavior.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::data {
namespace {

class Mark final : public SplitPattern {
public:
    explicit Mark(std::string mark) : mark_(std::move(mark)) {}
    PatternMatch next(std::string_view text, std::size_t from) const override {
        const std::size_t begin = text.find(mark_, from);
        if (begin == std::string_view::npos) return {begin, begin};
        return {begin, begin + mark_.size()};
    }

private:
    std::string mark_;
};

PrependScheme scheme_of(const JsonPart& part) {
    const std::string name = part.text("prepend_scheme").value_or("always");
    // Older files have "add_prefix_space" alone, or both.
    const bool adds = part.flag("add_prefix_space").value_or(true);
    if (name == "never" || (!adds && !part.text("prepend_scheme"))) return PrependScheme::never;
    if (!adds)
        part.refuse("\"add_prefix_space\" is false, but \"prepend_scheme\" is not \"never\"");
    if (name == "always") return PrependScheme::always;
    if (name == "first") return PrependScheme::first;
    part.refuse("\"prepend_scheme\" is '" + shown(name) + "'; expected always, first or never");
}

}  // namespace

MetaspaceOptions read_metaspace(const JsonPart& part) {
    part.allow({"replacement", "prepend_scheme", "split", "add_prefix_space", "str_rep"});
    MetaspaceOptions options;
    options.mark = part.needed_text("replacement");
    if (options.mark.empty() || unicode::decode(options.mark).bytes != options.mark.size())
        part.refuse("\"replacement\" is not one character");
    options.scheme = scheme_of(part);
    if (!part.flag("split").value_or(true)) options.words = MetaspaceOptions::Words::together;
    return options;
}

Metaspace::Metaspace(MetaspaceOptions options) : options_(std::move(options)) {
    if (options_.words == MetaspaceOptions::Words::apart)
        before_marks_ =
            std::make_unique<Splitting>(std::make_unique<Mark>(options_.mark),
                                        SplitBehavior::merged_with_next, Parts::as_found);
}

Metaspace::~Metaspace() = default;

void Metaspace::split(const Piece& piece, PieceSink& sink) const {
    std::string text;
    for (const char c : piece.text) c == ' ' ? text += options_.mark : text += c;
    const bool may_prepend =
        options_.scheme == PrependScheme::always ||
        (options_.scheme == PrependScheme::first && piece.place == Piece::Place::begin);
    if (may_prepend && !text.starts_with(options_.mark)) text.insert(0, options_.mark);
    if (!before_marks_) return sink.take({text, piece.place});
    before_marks_->split({text, piece.place}, sink);
}

}  // namespace lockstep::data
