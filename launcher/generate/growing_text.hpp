// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lockstep::launcher {

// Says what can be shown of a reply while it grows. A word is shown when the next one begins,
// because a tokenizer may still change it, and so is each character of writings without blanks.
class GrowingText {
public:
    // Takes the text of the tokens so far, of which the last `held_bytes` may be the beginning of
    // what is not to be shown. Returns what can be shown now, behind what was returned before.
    std::string grow(std::string_view text, std::size_t held_bytes);
    // Takes the whole reply. Returns what was not shown yet; if the reply begins otherwise than
    // what was shown, a line feed and all of it.
    std::string finish(std::string_view reply) const;

private:
    std::string shown_;
};

}  // namespace lockstep::launcher
