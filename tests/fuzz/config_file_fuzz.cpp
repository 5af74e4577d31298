// SPDX-License-Identifier: Apache-2.0
#include "launcher/command_line/command_line.hpp"
#include "launcher/command_line/config_file.hpp"
#include "launcher/options/prepare_options.hpp"
#include "launcher/options/run_command.hpp"
#include "tests/fuzz/target.hpp"

using namespace lockstep;
using namespace lockstep::launcher;

namespace {

constexpr const char* path = "input.conf";

void read_back(const std::string& text) {
    for (const ConfigLine& line : read_config_lines(text, path)) {
        const auto again = read_config_lines(config_line(line.name, line.value), path);
        fuzz::expect(again.size() == 1 && again.front().value == line.value,
                     "a value that is another after it was written");
    }
}

}  // namespace

// The input is a --config file: its syntax, and its options for training and for prepare.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::write_input(path, {data, size});
    fuzz::expect_answer([&] { read_back(std::string(fuzz::text_of(data, size))); });
    const std::vector<std::string> words{"--config", path};
    RunConfig run;
    fuzz::expect_answer([&] { (void)parse_command_line(words, run_tables(Task::train, run)); });
    PrepareConfig prepare;
    fuzz::expect_answer([&] {
        (void)parse_command_line(words, {prepare_table(prepare), tokenizer_table(prepare)});
    });
    return 0;
}
