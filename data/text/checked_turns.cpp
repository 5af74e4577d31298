// SPDX-License-Identifier: Apache-2.0
#include "data/text/checked_turns.hpp"

#include "data/text/fields.hpp"

namespace lockstep::data {

void CheckedTurns::begin_conversation(const SourceLine& source_line) {
    end();
    warnings_.count_conversation();
    begin_ = source_line;
}

void CheckedTurns::turn(std::string_view text, std::span<const std::string_view> labels,
                        const SourceLine& source_line) {
    labels_.clear();
    for (const std::string_view label : labels) {
        if (stripped(label).empty())
            // A model that learns it ends its reply before the first word.
            warnings_.add("an empty label is left out", source_line);
        else
            labels_.push_back(label);
    }
    sink_.turn(text, labels_, source_line);
    unanswered_.reset();
    if (labels_.empty())
        unanswered_ = source_line;
    else
        answered_ = true;
}

void CheckedTurns::end() {
    if (begin_ && !answered_)
        warnings_.add("# have no answer and give no row", *begin_);
    else if (unanswered_)
        warnings_.add("# end with a turn that has no answer and is left out", *unanswered_);
    begin_.reset();
    unanswered_.reset();
    answered_ = false;
}

}  // namespace lockstep::data
