// SPDX-License-Identifier: Apache-2.0
#include "model/config_json.hpp"
#include "runtime/train/checkpoint/checkpoint_folder.hpp"
#include "tests/fuzz/target.hpp"

using namespace lockstep;

// The input is the config.json of a model folder. A config that was read is written and read again.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::write_input("config.json", {data, size});
    fuzz::expect_answer([&] {
        const train::ModelDescription description = train::read_description(".");
        const model::ModelConfig config =
            model::config_from_json(description.config_json, "config.json");
        // Every negative excluded_token means none, and is not written.
        const std::string text = model::to_json(config);
        fuzz::expect(model::to_json(model::config_from_json(text, "again")) == text,
                     "a config that is another after it was written");
    });
    return 0;
}
