// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizers/tokenizer_file.hpp"
#include "tests/fuzz/target.hpp"

using namespace lockstep;

// The input is the tokenizer.json of a folder.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::write_input("tokenizer.json", {data, size});
    fuzz::expect_answer([] {
        const data::TokenizerFile file = data::read_tokenizer_file(".");
        fuzz::expect(file.file.find('/') == std::string::npos, "a file outside of the folder");
    });
    return 0;
}
