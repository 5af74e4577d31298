// SPDX-License-Identifier: Apache-2.0
#include "launcher/options/run_command.hpp"

#include <algorithm>

#include "launcher/command_line/command_line.hpp"
#include "launcher/command_line/habits.hpp"
#include "launcher/model_folder/model_folder.hpp"
#include "launcher/model_folder/named_checkpoint.hpp"
#include "launcher/options/continued_options.hpp"
#include "launcher/options/memory_options.hpp"
#include "launcher/options/model_defaults.hpp"
#include "launcher/options/program_options.hpp"
#include "launcher/options/run_checks.hpp"
#include "launcher/options/tables.hpp"
#include "launcher/options/talk_options.hpp"
#include "model/architectures.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/files/path_status.hpp"

namespace lockstep::launcher {

namespace {

bool reads_model(Task task) {
    return task == Task::evaluate || task == Task::display || talks(task);
}

void require_folder(Task task, const RunConfig& config) {
    const bool needs_folder = task == Task::train || reads_model(task);
    if (config.model_file.empty() && needs_folder)
        config_error("--model-file: name the model's folder");
}

void require_data(Task task, const RunConfig& config) {
    if (!config.data.empty()) return;
    if (task == Task::evaluate || task == Task::display) {
        require_model(config.model_file);  // the model would name its data
        config_error("--data: name what `lockstep prepare` wrote");
    }
    if (task != Task::train && task != Task::ladder) return;
    // Nobody who means to continue a run names the data again.
    config_error("--data: name what `lockstep prepare` wrote" +
                 (task == Task::ladder
                      ? ""
                      : "; " + config.model_file +
                            " holds no checkpoint to continue from, with which -mf alone is "
                            "enough"));
}

// These are ParlAI's values, after fairseq.
kernels::LossScaling fp16_scaling(Fp16Kind kind) {
    const auto dynamic = kernels::LossScaling::Kind::dynamic;
    if (kind == Fp16Kind::mem_efficient) return {dynamic, 0x1p17F, 1e-4F};
    return {dynamic, 0x1p15F, 0x1p-5F};
}

// A plan may count its ranks as Slurm does.
void count_ranks(RunConfig& config) {
    if (config.nodes < 0 && config.ranks_per_node < 0) return;
    const std::int64_t nodes = std::max<std::int64_t>(config.nodes, 1);
    const bool divides = config.world_size > 0 && config.world_size % nodes == 0;
    if (config.ranks_per_node < 0) config.ranks_per_node = divides ? config.world_size / nodes : 1;
    const std::int64_t ranks = nodes * config.ranks_per_node;
    if (config.world_size > 0 && config.world_size != ranks)
        config_error("--distributed-world-size " + std::to_string(config.world_size) +
                     ": --nodes and --gpus-per-node or --ntasks-per-node make " +
                     std::to_string(ranks) + "; leave it out");
    if (ranks > comm::max_ranks)
        config_error("--nodes: a run has at most " + std::to_string(comm::max_ranks) + " ranks");
    config.world_size = ranks;
}

void derive(RunConfig& config) {
    count_ranks(config);
    if (config.fp16) config.precision = PrecisionChoice::fp16;
    if (config.precision == PrecisionChoice::fp16)
        config.train.loss_scaling = fp16_scaling(config.gpu.fp16);
    if (config.batch.batch_tokens > 0) config.batch.dynamic = data::Dynamic::full;
    config.train.zero.stage = zero_stage(config);
    if (config.checkpoint_activations) config.recompute = {model::Recompute::layer};
    if (config.no_overlap) config.train.reducer.overlap = train::Overlap::off;
    if (config.deterministic) {
        config.train.reducer.lane_order = train::LaneOrder::fixed;
        // The products of some shapes have other last bits with another number of threads.
        if (config.threads == 0) config.threads = 1;
    }
    config.comm.timeout_ms = static_cast<int>(config.timeout_s * 1e3);
    config.generation.seed = config.train.seed;
    auto& optimizer = config.train.optimizer;
    if (!config.given.contains("adafactor-scale-parameter"))
        optimizer.adafactor_scale_parameter = optimizer.adafactor_relative_step;
    model::ModelConfig& m = config.model;
    m.encoder_layers = config.n_encoder_layers > 0 ? config.n_encoder_layers : config.n_layers;
    m.decoder_layers = config.n_decoder_layers > 0 ? config.n_decoder_layers : config.n_layers;
    m.positions =
        config.learned_positions ? model::Positions::learned : model::Positions::sinusoidal;
    m.embedding_scale =
        config.embeddings_scale ? model::EmbeddingScale::sqrt_dim : model::EmbeddingScale::none;
    model::apply_fixed(m);
    if (model::architecture(m.kind).parts) {
        m.parts.kv_heads = std::max<std::int64_t>(config.n_kv_heads, 0);
        m.parts.rotary.theta = config.rope_theta;
        m.parts.norm_epsilon = config.norm_epsilon;
    }
    const bool truncation = model::architecture(m.kind).row_limit == model::RowLimit::truncation;
    const BatchConfig& b = config.batch;
    const auto longest = std::max({b.truncate, b.text_truncate, b.label_truncate});
    m.n_positions = config.n_positions > 0      ? config.n_positions
                    : longest > 0 && truncation ? longest
                                                : 1024;
}

// The checkpoint has the weights, so the initial ones may be gone.
RunConfig continued(RunConfig config) {
    config.init_model.clear();
    return config;
}

std::optional<CommandLine> parse_words(const std::string& usage,
                                       const std::vector<std::string>& args,
                                       const std::vector<OptionTable>& known) {
    auto line = parse_or_answer(usage, args, known);
    if (line && !line->rest.empty())
        config_error("'" + shown(line->rest.front()) + "': nothing may follow --");
    return line;
}

void set_defaults(Task task, RunConfig& config) {
    if (task == Task::display) config.train.validation.max_examples = 10;
    if (task == Task::evaluate || task == Task::display) {
        config.skip_generation = false;
        config.batch.batchsize = 32;  // rows are scored one at a time for any batch size
    }
    if (task == Task::doctor) config.timeout_s = 30;
    if (task == Task::ladder) {
        config.batch.batchsize = 64;  // ParlAI's value, in its tutorial's baseline
        config.train.limits.num_epochs = 1;
        config.train.limits.max_train_time_s = 60;
        config.train.validation.max_examples = 256;
    }
}

ComparedOptions compared(Task task, RunConfig config) {
    return compared_options(run_tables(task, config), config.given);
}

// Checks the options. An error about a value of a model's defaults names the model's folder.
void check_naming_folder(Task task, const RunConfig& config, const OptionValues& defaults,
                         const std::string& folder, const std::vector<OptionTable>& tables) {
    try {
        check_options(task, config);
    } catch (const Error& error) {
        refuse_default(error.what(), defaults, folder, tables, config.given);
        throw;
    }
}

}  // namespace

void check_models(const RunConfig& config) {
    for (const auto& [option, path] : {std::pair{"--model-file ", config.model_file},
                                       std::pair{"--init-model ", config.init_model}}) {
        const std::string instead = instead_of_model(path);
        if (!instead.empty()) config_error(option + path + ": " + instead);
    }
}

bool tells_longest_row(const RunConfig& config) noexcept {
    const BatchConfig& b = config.batch;
    return std::max({b.truncate, b.text_truncate, b.label_truncate, config.n_positions}) > 0;
}

bool talks(Task task) noexcept {
    return task == Task::generate || task == Task::interactive || task == Task::self_chat;
}

std::vector<OptionTable> run_tables(Task task, RunConfig& config) {
    if (talks(task)) return talk_tables(task, config);
    std::vector<OptionTable> tables{run_table(config), device_table(config)};
    tables.push_back(batch_table(config));
    if (task != Task::display) tables.push_back(place_table(config));
    if (task == Task::doctor) tables.push_back(doctor_table(config));
    if (task == Task::plan) tables.push_back(plan_table(config));
    if (task == Task::ladder) tables.push_back(ladder_table(config));
    if (!reads_model(task)) {
        tables.push_back(data_table(config));
        tables.push_back(model_table(config));
        tables.push_back(optimizer_table(config));
        tables.push_back(schedule_table(config));
        tables.push_back(length_table(config));
        tables.push_back(validation_table(config));
        tables.push_back(reducer_table(config));
        tables.push_back(memory_table(config));
        tables.push_back(graphs_table(config));
        OptionTable start("Start");
        start
            .text("init-model,im", config.init_model, "PATH",
                  "weights to start from: a model's folder, a checkpoint or a .safetensors file; "
                  "not read when the run continues")
            .with(Trait::paths, Trait::launch);
        tables.push_back(std::move(start));
        tables.push_back(lora_table(config));
        tables.push_back(final_table(config));
    }
    if (task == Task::evaluate) tables.push_back(eval_table(config));
    if (task == Task::display) tables.push_back(display_table(config));
    tables.push_back(generation_table(config));
    return tables;
}

void check_defaults(const std::string& folder) {
    RunConfig config;
    set_defaults(Task::evaluate, config);
    const OptionValues defaults = stored_defaults(folder);
    const std::vector<OptionTable> tables = run_tables(Task::evaluate, config);
    apply_defaults(defaults, folder, tables, {});
    check_naming_folder(Task::evaluate, config, defaults, folder, tables);
}

std::map<std::string, std::string> option_values(Task task, RunConfig config) {
    std::map<std::string, std::string> values;
    // A table shows the bound field's value as the option's default.
    for (const OptionTable& table : run_tables(task, config)) {
        for (const Option& option : table.options()) values[option.name] = option.default_text;
    }
    return values;
}

std::optional<RunConfig> parse_run(Task task, const std::string& usage,
                                   const std::vector<std::string>& args, Ranks ranks,
                                   const StoredSource& source, FolderAccess access) {
    RunConfig config;
    set_defaults(task, config);
    const std::vector<OptionTable> tables = run_tables(task, config);
    const std::vector<OptionTable> known = program_tables(task, ranks, tables, config);
    const auto line = parse_words(usage, args, known);
    if (!line) return std::nullopt;
    config.given = line->given;
    OptionValues defaults;
    if (reads_model(task)) {
        defaults = stored_defaults(config.model_file);
        apply_defaults(defaults, config.model_file, tables, config.given);
        for (const std::string& folder : config.data)
            if (!config.given.contains("data") && !path_exists(folder))
                config_error("--data: the model's own data set, " + folder +
                             ", is not there; name one that `lockstep prepare` wrote");
    }
    config.lines = dump_config(args, known);
    const auto stored = source ? source() : std::nullopt;
    if (stored) take_stored_options(*stored, tables, config);
    require_folder(task, config);
    if (access == FolderAccess::reads) check_models(stored ? continued(config) : config);
    if (!config.checkpoint.empty()) (void)path_of_checkpoint(config.model_file, config.checkpoint);
    require_data(task, config);
    check_naming_folder(task, config, defaults, config.model_file, tables);
    derive(config);
    config.compared = compared(task, config);
    if (stored) {
        const auto values = option_values(task, config);
        config.changes = changed_options(*stored, config, tables, values);
        config.changed = changed_kind(*stored, config, tables, values);
        config.counted_anew = counted_anew(*stored, config, tables, values);
    }
    return config;
}

std::optional<RunConfig> parse_launch(const std::string& usage,
                                      const std::vector<std::string>& args, Ranks ranks) {
    RunConfig config;
    const std::vector<OptionTable> tables = run_tables(Task::train, config);
    const auto line = parse_words(usage, args, program_tables(Task::train, ranks, tables, config));
    if (!line) return std::nullopt;
    config.given = line->given;
    require_folder(Task::train, config);
    check_launch(config);
    derive(config);
    config.compared = compared(Task::train, config);
    return config;
}

}  // namespace lockstep::launcher
