// SPDX-License-Identifier: Apache-2.0
#include "data/text/episode_borders.hpp"

#include "data/text/fbdialog.hpp"
#include "data/text/parlai_text.hpp"

namespace lockstep::data {

bool episode_ends(TextFormat format, std::string_view line, std::string_view next) noexcept {
    switch (format) {
        case TextFormat::parlai:
            return parlai_line_ends_episode(line);
        case TextFormat::fbdialog: {
            const auto number = fbdialog_line_number(line), following = fbdialog_line_number(next);
            return number && following && *following <= *number;
        }
        case TextFormat::jsonl:
        case TextFormat::messages:
        case TextFormat::text:
        case TextFormat::json_texts:
            return true;
    }
    return true;
}

}  // namespace lockstep::data
