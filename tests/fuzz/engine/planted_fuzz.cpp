// SPDX-License-Identifier: Apache-2.0
// Faults of each kind that fuzzers must find; engine/planted_test.sh looks whether they do.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "tests/fuzz/target.hpp"

namespace {

// It is behind three comparisons, so that only a search by blocks finds it soon.
void behind_comparisons(std::string_view text) {
    if (text.size() < 3 || text[0] != 'F') return;
    if (text[1] != 'u') return;
    if (text[2] != 'z') return;
    std::abort();
}

// Tells the first run of an input from the second: a machine that stands still makes only the first
// slow.
bool first_time() {
    constexpr const char* trace = "was-here";
    if (std::filesystem::exists(trace)) return false;
    std::ofstream{trace};
    return true;
}

void loop() {
    for (volatile bool forever = true; forever;) continue;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text = lockstep::fuzz::text_of(data, size);
    lockstep::fuzz::expect_answer([&] {
        behind_comparisons(text);
        if (text.starts_with("exception")) throw std::out_of_range("planted");
        if (text.starts_with("contract"))
            throw lockstep::Error(lockstep::ErrorKind::contract, "planted");
        if (text.starts_with("answer"))
            throw lockstep::Error(lockstep::ErrorKind::data, "a good answer");
    });
    if (text.starts_with("loop")) loop();
    if (text.starts_with("slow once") && first_time()) loop();
    if (text.starts_with("exit")) std::_Exit(EXIT_SUCCESS);
    if (text.starts_with("read")) return data[size];
    if (text.starts_with("overflow")) return static_cast<int>(size) + 2147483647;
    if (text.starts_with("memory")) std::vector<char>(std::size_t{1} << 28).data()[0] = 1;
    if (text.starts_with("leak")) *new volatile int = 1;
    return 0;
}
