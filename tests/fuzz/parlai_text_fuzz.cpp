// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/target.hpp"
#include "tests/fuzz/text_input.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    lockstep::fuzz::read_as_text({data, size}, {.format = lockstep::data::TextFormat::parlai});
    return 0;
}
