// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "tests/fuzz/target.hpp"
#include "tests/fuzz/text_input.hpp"

using namespace lockstep;

// The size of the input chooses the speaker, so that the input is a whole file.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::array speakers{data::LabelTurns::firstspeaker, data::LabelTurns::secondspeaker,
                                  data::LabelTurns::both};
    fuzz::read_as_text({data, size}, {.format = data::TextFormat::jsonl,
                                      .label_turns = speakers[size % speakers.size()]});
    return 0;
}
