// SPDX-License-Identifier: Apache-2.0
#include "model/peft_config.hpp"
#include "tests/fuzz/target.hpp"

using namespace lockstep;

// The input is the adapter_config.json of PEFT's adapters. Adapters that were read are written and
// read again.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(fuzz::text_of(data, size));
    fuzz::expect_answer([&] { (void)model::peft_base(text, "adapter_config.json"); });
    for (const model::Kind kind : {model::Kind::llama, model::Kind::gpt2, model::Kind::bart})
        fuzz::expect_answer([&] {
            model::ModelConfig config;
            config.kind = kind;
            config.lora = model::lora_from_peft(text, "adapter_config.json", kind);
            fuzz::expect(
                model::lora_from_peft(model::to_peft(config), "again", kind) == config.lora,
                "adapters that are others after they were written");
        });
    return 0;
}
