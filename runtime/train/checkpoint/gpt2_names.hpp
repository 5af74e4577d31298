// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lockstep::train {

// The name that Lockstep gives a tensor. Transformers stores matrices of GPT-2 as [in, out], which
// are turned here.
struct KnownTensor {
    std::string name;
    bool turned = false;
};

// Returns what the tensor of a GPT2LMHeadModel of transformers is here. The names have the prefix
// "transformer." or, as in openai-community/gpt2, none.
std::optional<KnownTensor> of_gpt2(std::string_view theirs);

// Tells whether the tensor is a constant mask, which old files of GPT-2 hold in any type.
bool is_gpt2_mask(std::string_view theirs) noexcept;

// Tells whether the name is that of GPT-2's table of embeddings.
bool is_gpt2_table(std::string_view theirs) noexcept;

// The table again, in files whose writer did not leave the copy out.
inline constexpr std::string_view gpt2_head = "lm_head.weight";

}  // namespace lockstep::train
