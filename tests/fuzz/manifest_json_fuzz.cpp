// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint/manifest.hpp"
#include "tests/fuzz/target.hpp"

using namespace lockstep;

// The input is the manifest.json of a checkpoint, whose other files are missing.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::write_input(train::manifest_file, {data, size});
    fuzz::expect_answer([] {
        const train::Manifest manifest = train::read_manifest(".");
        for (const train::ListedFile& file : manifest.files) {
            fuzz::expect(file.name.find('/') == std::string::npos, "a file outside of the folder");
            fuzz::expect_answer([&] { train::verify_size(".", file); });
        }
        (void)manifest.parts(".");
        (void)manifest.bytes();
    });
    return 0;
}
