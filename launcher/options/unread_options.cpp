// SPDX-License-Identifier: Apache-2.0
#include "launcher/options/unread_options.hpp"

#include <map>
#include <string>
#include <vector>

#include "launcher/options/optimizer_readers.hpp"
#include "launcher/options/run_checks.hpp"
#include "launcher/options/tables.hpp"
#include "model/architectures.hpp"

namespace lockstep::launcher {

namespace {

// Says that nobody reads some options, because the run has `has` and not what `readers` names.
struct UnreadRule {
    bool unread;
    std::vector<std::string> names;
    std::string readers;
    std::string has;
};

using Values = std::map<std::string, std::string>;

std::string option_text(const Values& values, const char* name) {
    return "--" + std::string(name) + " " + values.at(name);
}

// --moments has a check of its own.
std::vector<UnreadRule> optimizer_rules(const RunConfig& config, const Values& values) {
    using train::OptimizerKind;
    const train::OptimizerOptions& optimizer = config.train.optimizer;
    const std::string has = option_text(values, "optimizer");
    std::vector<UnreadRule> rules;
    for (const std::string& option : options_of_some_optimizers()) {
        if (option == "moments") continue;
        const auto reads_it = [&](OptimizerKind kind) { return reads(kind, option); };
        rules.push_back({!reads_it(optimizer.kind),
                         {option},
                         "--optimizer " + optimizers_text(reads_it, "or"),
                         has});
    }
    const bool stands = optimizer.kind == OptimizerKind::sgd && optimizer.momentum == 0;
    rules.push_back({stands, {"nesterov"}, "--momentum above 0", "--momentum 0"});
    return rules;
}

std::vector<UnreadRule> schedule_rules(const RunConfig& config, const Values& values) {
    using train::ScheduleKind;
    const train::ScheduleOptions& s = config.train.schedule;
    const bool by_validations =
        s.kind == ScheduleKind::fixed || s.kind == ScheduleKind::reduceonplateau;
    const bool warms_up = s.warmup_updates > 0 || config.warmup_ratio > 0;
    const std::string has = option_text(values, "lr-scheduler");
    return {{s.kind != ScheduleKind::wsd, {"decay-ratio"}, "--lr-scheduler wsd", has},
            {!train::has_end(s.kind), {"min-lr"}, "--lr-scheduler linear, cosine or wsd", has},
            {s.kind != ScheduleKind::invsqrt,
             {"invsqrt-lr-decay-gamma"},
             "--lr-scheduler invsqrt",
             has},
            {!by_validations,
             {"lr-scheduler-decay", "lr-scheduler-patience"},
             "--lr-scheduler fixed or reduceonplateau",
             has},
            {!warms_up, {"warmup-rate"}, "--warmup-updates or --warmup-ratio", "no warm-up"}};
}

std::vector<UnreadRule> model_rules(const RunConfig& config, const Values& values) {
    const model::Architecture& family = model::architecture(config.model.kind);
    const std::string has = option_text(values, "model");
    return {{family.stacks == model::Stacks::decoder && config.init_model.empty(),
             {"n-encoder-layers"},
             "--model transformer/generator, bart, blenderbot or blenderbot-small",
             has + ", which has no encoder"},
            {!family.parts,
             {"n-kv-heads", "rope-theta", "norm-epsilon"},
             "--model llama, mistral, qwen2 or qwen3",
             config.init_model.empty() ? has : "the model of --init-model, which has its own"}};
}

std::vector<UnreadRule> validation_rules(const RunConfig& config) {
    const train::ValidationOptions& v = config.train.validation;
    const bool none = v.every_n_epochs <= 0 && v.every_n_steps <= 0 && v.every_n_secs <= 0;
    return {{none && v.patience > 0,
             {"validation-patience"},
             "--validation-every-n-epochs, -steps or -secs",
             "no validation before the end"},
            {none,
             {"validation-cutoff"},
             "--validation-every-n-epochs, -steps or -secs",
             "no validation before the end"},
            {v.max_examples <= 0, {"short-final-eval"}, "--validation-max-exs", "all rows"},
            {config.skip_generation,
             {"metrics"},
             "--skip-generation false",
             "no reply to measure (--skip-generation true)"}};
}

std::vector<UnreadRule> talk_rules(Task task, const RunConfig& config) {
    const TalkConfig& talk = config.talk;
    return {
        {talk.output.empty() && task == Task::generate, {"overwrite"}, "--output", "no file"},
        {talk.outfile.empty() && task != Task::generate, {"save-format"}, "--outfile", "no file"}};
}

std::vector<std::string> names_of(const OptionTable& table) {
    std::vector<std::string> names;
    for (const Option& option : table.options()) names.push_back(option.name);
    return names;
}

std::vector<UnreadRule> evaluation_rules(RunConfig config) {
    std::vector<std::string> names = names_of(generation_table(config));
    names.emplace_back("metrics");
    return {{config.skip_generation, names, "replies", "--skip-generation true"}};
}

std::vector<UnreadRule> reply_rules(const RunConfig& config) {
    return {{config.generation.beam_context_block_ngram < 1,
             {"beam-block-full-context"},
             "--beam-context-block-ngram",
             "no n-gram of the context blocked"}};
}

std::vector<UnreadRule> rules(Task task, const RunConfig& config, const Values& values) {
    std::vector<UnreadRule> all;
    const auto add = [&](const std::vector<UnreadRule>& some) {
        all.insert(all.end(), some.begin(), some.end());
    };
    if (talks(task)) add(talk_rules(task, config));
    if (task == Task::evaluate) add(evaluation_rules(config));
    // A model that is trained keeps the options of replies for those who use it.
    if (!values.contains("optimizer")) {
        add(reply_rules(config));
        return all;
    }
    add(optimizer_rules(config, values));
    add(schedule_rules(config, values));
    add(model_rules(config, values));
    if (task == Task::train) add(validation_rules(config));
    return all;
}

bool asks_for_default(Task task, const std::string& name, const Values& values) {
    return values.at(name) == option_values(task, RunConfig{}).at(name);
}

}  // namespace

void check_unread(Task task, const RunConfig& config) {
    if (config.given.empty()) return;
    const Values values = option_values(task, config);
    for (const UnreadRule& rule : rules(task, config, values))
        for (const std::string& name : rule.names) {
            if (!rule.unread || !config.given.contains(name) || !values.contains(name)) continue;
            if (asks_for_default(task, name, values)) continue;
            config_error("--" + name + " has no effect: it is for " + rule.readers +
                         ", and this run has " + rule.has + "; change that, or leave it out");
        }
}

}  // namespace lockstep::launcher
