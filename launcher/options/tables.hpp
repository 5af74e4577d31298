// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/command_line/option_table.hpp"
#include "launcher/options/run_config.hpp"

namespace lockstep::launcher {

// These are the maximum values of options: tokens of a sequence, threads, and hypotheses, of which
// more fill any memory with their keys and values.
constexpr std::uint64_t max_positions = 1 << 20, max_threads = 4096, max_beam_size = 1024;

// Each function returns the options of one topic, bound to `config`, which must outlive the table.
// The files *_options.cpp define them.
OptionTable model_table(RunConfig& config);
OptionTable lora_table(RunConfig& config);
OptionTable data_table(RunConfig& config);
OptionTable batch_table(RunConfig& config);
OptionTable optimizer_table(RunConfig& config);
OptionTable schedule_table(RunConfig& config);
OptionTable length_table(RunConfig& config);
OptionTable validation_table(RunConfig& config);
OptionTable reducer_table(RunConfig& config);
OptionTable memory_table(RunConfig& config);
OptionTable graphs_table(RunConfig& config);
OptionTable run_table(RunConfig& config);
OptionTable device_table(RunConfig& config);
OptionTable eval_table(RunConfig& config);
OptionTable display_table(RunConfig& config);
OptionTable final_table(RunConfig& config);
OptionTable generation_table(RunConfig& config);
OptionTable place_table(RunConfig& config);
OptionTable doctor_table(RunConfig& config);
OptionTable plan_table(RunConfig& config);
OptionTable ladder_table(RunConfig& config);

// Adds --checkpoint, of programs that read a model.
void add_checkpoint(OptionTable& table, RunConfig& config);

// Returns `config` with the options that give `model`, if those that it has give another one: the
// shape may come from the folder of a model.
RunConfig with_model(RunConfig config, const model::ModelConfig& model);

}  // namespace lockstep::launcher
