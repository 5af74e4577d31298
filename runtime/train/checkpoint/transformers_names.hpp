// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::train {

// Says what a tensor of transformers is here. Matrices of GPT-2 are stored as [in, out] and are
// turned. Matrices that transformers keeps apart, such as those of queries, keys and values, are
// the rows of one here: part number `part` of `parts`.
struct KnownTensor {
    std::string name;
    bool turned = false;
    int part = 0, parts = 1;
};

// Returns what the tensor of a language model of transformers is here: of a GPT2LMHeadModel, whose
// names have the prefix "transformer." or, as in openai-community/gpt2, none, or of one of the
// families whose names begin with "model.", which those of encoder-decoders may lack.
std::optional<KnownTensor> of_transformers(std::string_view theirs);

// Returns what one of PEFT's tensors of an adapter (LoRA) of such a model is here; both factors are
// stored as [rank, columns]. Tables of tokens and of the output may be there whole.
std::optional<KnownTensor> of_peft(std::string_view theirs);

// Returns the name of a factor of the adapter of a matrix, or of a part of it, here.
enum class LoraFactor { a, b };
std::string adapter_name(const KnownTensor& matrix, LoraFactor factor);

// Tells whether the tensor is a bias of the logits, which no model here has: it must be zero.
inline constexpr std::string_view logits_bias = "final_logits_bias";
bool is_logits_bias(std::string_view theirs) noexcept;

// Tells whether the tensor of an encoder-decoder may stand for its table of embeddings, or be a
// copy of it.
bool is_table_of_stacks(std::string_view theirs) noexcept;

// Tells whether the tensor is a constant, which some files hold in any type: GPT-2's masks, and
// frequencies of rotary positions.
bool is_buffer(std::string_view theirs) noexcept;

// llama: and those like it. bart: of BlenderbotSmall, too.
enum class NamesOf { lockstep, gpt2, llama, phi3, bart, blenderbot, peft };

// Tells whose names a file has that holds this tensor; only the table of embeddings tells, or a
// tensor of an adapter. bart stands for all encoder-decoders, and llama for phi3, too; the next
// functions tell what only one of them has.
NamesOf names_of(std::string_view theirs) noexcept;

bool is_norm_of_blenderbot(std::string_view theirs) noexcept;
bool is_matrix_of_phi3(std::string_view theirs) noexcept;
bool is_encoder_decoder(NamesOf names) noexcept;

// A tensor as transformers names it. It has one of the parts of ours, whose rows are numbered in
// this order, and is turned as in KnownTensor.
struct ForeignName {
    std::string name;
    bool turned = false;
};

// Returns the tensors that a file with the names of `names` holds in place of ours, in the order of
// their rows; none if such a file has no place for it or, as those of peft, is not written.
std::vector<ForeignName> names_in_transformers(NamesOf names, std::string_view ours);

// Names the keys of config.json that decide whether a model of transformers has this tensor of
// ours, and its shape: "n_layer", or "hidden_size, vocab_size"; of adapter_config.json
// for PEFT's; nothing for Lockstep's.
enum class Deciding { presence, shape };
std::string_view deciding_keys(NamesOf names, std::string_view ours, Deciding what) noexcept;

}  // namespace lockstep::train
