// SPDX-License-Identifier: Apache-2.0
#include "launcher/options/run_checks.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "data/text/unicode.hpp"
#include "launcher/model_folder/model_folder.hpp"
#include "launcher/options/generation_checks.hpp"
#include "launcher/options/memory_options.hpp"
#include "launcher/options/model_defaults.hpp"
#include "launcher/options/schedule_checks.hpp"
#include "launcher/options/unread_options.hpp"
#include "model/architectures.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/train/metrics/reply_metrics.hpp"

namespace lockstep::launcher {

void config_error(const std::string& text) { throw Error(ErrorKind::config, text); }

namespace {

// The relative step depends on nothing but the update's number.
void check_relative_step(const RunConfig& config) {
    if (!config.train.optimizer.adafactor_relative_step) return;
    if (config.train.optimizer.kind != train::OptimizerKind::adafactor)
        config_error("--adafactor-relative-step needs --optimizer adafactor");
    for (const char* unused : {"learningrate", "lr-scheduler", "warmup-updates", "warmup-ratio"}) {
        if (config.given.contains(unused))
            config_error("--adafactor-relative-step contradicts --" + std::string(unused) +
                         ": the steps follow from the updates alone; leave one out");
    }
}

bool validations_end(const train::ValidationOptions& v) {
    const bool happen = v.every_n_epochs > 0 || v.every_n_steps > 0 || v.every_n_secs > 0;
    return happen && (v.patience > 0 || v.has_cutoff);
}

// A limit of 0 is none, as in ParlAI, which is not what everybody means by it.
std::string limits_of_none(const RunConfig& config) {
    std::string names;
    for (const char* limit : {"num-epochs", "max-train-steps", "max-train-time"})
        if (config.given.contains(limit))
            names += (names.empty() ? " (--" : ", --") + std::string(limit);
    return names.empty() ? "" : names + " of 0 or less sets no limit)";
}

void check_train(const RunConfig& config) {
    const train::RunLimits& limits = config.train.limits;
    const bool limited =
        limits.num_epochs > 0 || limits.max_train_steps > 0 || limits.max_train_time_s > 0;
    if (!limited && !validations_end(config.train.validation)) {
        config_error("nothing ends this run" + limits_of_none(config) +
                     ": give --num-epochs, --max-train-steps or --max-train-time above 0, or "
                     "validations (--validation-every-n-epochs, -steps or -secs), which end it by "
                     "--validation-patience or --validation-cutoff");
    }
    check_relative_step(config);
    check_schedule(config);
}

// Sums in bf16, and those of GPUs' libraries, depend on the ranks.
void check_deterministic(const RunConfig& config) {
    if (!config.deterministic) return;
    if (config.train.reducer.comm_dtype != Dtype::fp32)
        config_error("--deterministic contradicts --comm-dtype bf16; leave one out");
    if (config.device == DeviceChoice::cuda)
        config_error(
            "--deterministic: only CPUs add the lanes in a fixed order; give --device cpu");
}

void check_weights(const RunConfig& config) {
    const std::vector<double>& weights = config.multitask_weights;
    if (weights.empty()) return;
    if (weights.size() != config.data.size())
        config_error("--multitask-weights: " + std::to_string(weights.size()) + " weights for " +
                     std::to_string(config.data.size()) +
                     " data sets; give one for each of --data");
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    if (sum <= 0) config_error("--multitask-weights: all are 0; at least one data set is needed");
    if (!std::isfinite(sum))
        config_error(
            "--multitask-weights: too large; only their ratio counts, so give smaller ones");
}

void check_evaluate(const RunConfig& config) { (void)train::ReplyMetrics(config.metrics); }

// ladder leaves out generation by itself.
void check_metric(Task task, const RunConfig& config) {
    const std::string& name = config.train.validation.metric;
    const std::string metric = name.substr(name.rfind('/') + 1);
    (void)train::ReplyMetrics(config.metrics);  // throws for unknown names
    if (!config.skip_generation || !train::needs_replies(metric)) return;
    config_error("--validation-metric " + metric +
                 (task == Task::ladder ? ": most rungs do not generate; give ppl, loss or token_acc"
                                       : " needs --skip-generation false"));
}

void check_batches(const BatchConfig& batch, const std::set<std::string>& given) {
    if (batch.batch_tokens == 0) config_error("--batch-tokens: 0 is not allowed: give 1 or more");
    if (batch.batch_tokens > 0 && given.contains("dynamic-batching") &&
        batch.dynamic != data::Dynamic::full) {
        config_error(
            "--batch-tokens contradicts --dynamic-batching off or batchsort; leave one out");
    }
    if (batch.eval_batchsize == 0)
        config_error("--eval-batchsize: 0 is not allowed: give 1 or more");
}

// Says how long the rows were of the model with whose weights the run begins, if its folder tells.
std::string truncation_of(const std::string& init_model) {
    if (init_model.empty()) return "";
    try {
        const std::string folder = model_folder_of(init_model);
        const OptionValues defaults = stored_defaults(folder);
        const auto text = defaults.find("text-truncate"), label = defaults.find("label-truncate");
        std::string options;
        if (text != defaults.end() && label != defaults.end() && text->second == label->second)
            options = " --truncate " + shown(text->second);
        else
            for (const auto& found : {text, label})
                if (found != defaults.end())
                    options += " --" + found->first + " " + shown(found->second);
        return options.empty() ? "" : "; " + folder + " was trained with" + options;
    } catch (const Error&) {
        return "";  // the folder's own error is told where it is read
    }
}

// Requires a limit for rows. A budget of --batchsize x 2048 tokens would otherwise make two updates
// an epoch of a small data set.
void check_budget(const RunConfig& config) {
    if (config.batch.dynamic == data::Dynamic::full && config.batch.batch_tokens <= 0 &&
        !tells_longest_row(config))
        config_error(
            "--dynamic-batching full fills a batch to --batchsize longest rows: say how long by "
            "--text-truncate and --label-truncate, or --truncate, or give --batch-tokens" +
            truncation_of(config.init_model));
}

// Accepts a given option that repeats what the model's family always does.
void check_family(const RunConfig& config) {
    const model::Architecture& family = model::architecture(config.model.kind);
    const auto check = [&](const char* name, const auto& fixed, auto typed) {
        if (fixed && config.given.contains(name) && typed != fixed->typed)
            config_error("--" + std::string(name) + ": " + family.name + " always " +
                         fixed->always + "; leave it out");
    };
    using model::EmbeddingScale;
    using model::Positions;
    check("variant", family.variant, config.model.variant);
    check("activation", family.activation, config.model.activation);
    check("embeddings-scale", family.embedding_scale,
          config.embeddings_scale ? EmbeddingScale::sqrt_dim : EmbeddingScale::none);
    check("learn-positional-embeddings", family.positions,
          config.learned_positions ? Positions::learned : Positions::sinusoidal);
}

void check_lora(const RunConfig& config) {
    const auto given = [&](const char* option) { return config.given.contains(option); };
    if (given("lora-r") && config.lora.rank > 0 && !config.lora.adapter.empty())
        config_error(
            "--lora-r contradicts --lora, whose adapters have their own rank; leave one out");
    for (const char* option : {"lora-alpha", "lora-modules", "lora-rs", "lora-modules-to-save",
                               "lora-ensure-weight-tying"}) {
        if (!given(option) || config.lora.rank > 0) continue;
        config_error("--" + std::string(option) +
                     (config.lora.adapter.empty() ? ": give --lora-r, the rank, too"
                                                  : ": the adapters of --lora have their own; "
                                                    "leave it out"));
    }
    if (config.lora.ensure_weight_tying && config.lora.modules_to_save.empty())
        config_error(
            "--lora-ensure-weight-tying is for tables that are trained whole; give "
            "--lora-modules-to-save, too");
    if (given("lora-dropout") && config.lora.rank == 0 && config.lora.adapter.empty())
        config_error("--lora-dropout: give --lora-r, the rank, or --lora, too");
}

// Adapters with a smaller share in the sums than these would have none.
void check_alpha(const RunConfig& config) {
    constexpr double smallest = 1e-3;
    if (config.lora.alpha > 0 && config.lora.alpha < smallest)
        config_error("--lora-alpha " + number_word(config.lora.alpha) +
                     ": adapters would count for nothing; give 0.001 or more, or 0 for twice the "
                     "rank");
}

void check_clip(const RunConfig& config) {
    constexpr double smallest = 1e-30;
    const double clip = config.train.optimizer.gradient_clip;
    if (clip > 0 && clip < smallest)
        config_error("--gradient-clip " + number_word(clip) +
                     ": nothing would be left of the gradients; give 1e-30 or more, or 0 for no "
                     "limit");
}

// What fp32 makes of other numbers divides by 0, or leaves nothing of the differences.
void check_replies(const model::GenerationOptions& generation) {
    constexpr double largest = 1000, smallest = 1e-6;
    const auto between = [](const char* option, double value, const char* rest) {
        if (!(value >= smallest && value <= largest))
            config_error("--" + std::string(option) + rest);
    };
    between("temperature", generation.temperature, ": give more than 0: from 0.000001 to 1000");
    between("repetition-penalty", generation.repetition_penalty,
            ": give more than 0, from 0.000001 to 1000; 1 changes nothing");
}

void check_device(const RunConfig& config) {
    const bool fp16 = config.precision == PrecisionChoice::fp16;
    if (config.fp16 && config.given.contains("precision") && !fp16)
        config_error("--fp16 contradicts --precision fp32, bf16 or auto; leave one out");
    if (config.given.contains("fp16-impl") && !fp16 && !config.fp16)
        config_error("--fp16-impl needs --precision fp16");
}

void check_memory(const RunConfig& config) {
    const model::RecomputePlan layers{model::Recompute::layer};
    if (config.checkpoint_activations && config.given.contains("recompute") &&
        config.recompute != layers)
        config_error("--checkpoint-activations is --recompute layer; leave one of the two out");
    check_moments(config.train.optimizer);
    check_muon(config);
    check_offload(config);
    check_zero(config);
    check_tensor(config);
    check_pipeline(config);
}

void check_talk(const RunConfig& config) {
    if (!config.talk.prompts.empty() && !config.talk.input.empty())
        config_error("--prompt contradicts --input; leave one out");
    for (const std::string& stop : config.talk.stops)
        if (data::unicode::first_invalid(stop) != stop.size())
            config_error("--stop " + shown(stop) + ": is not UTF-8; no reply has such a text");
    const int n = config.talk.n_best, width = config.generation.beam_size;
    if (n > width) {
        config_error("--n-best " + std::to_string(n) +
                     ": there are as many replies as --beam-size, " + std::to_string(width) +
                     "; add --inference beam --beam-size " + std::to_string(n));
    }
}

}  // namespace

void check_launch(const RunConfig& config) {
    if (config.verbose && config.quiet)
        config_error("--verbose contradicts --quiet; leave one out");
    if (config.timeout_s < 0.001)
        config_error("--timeout: give more than 0 seconds: 0.001 or more");
    if (config.master_port > 65535) config_error("--master-port: ports go from 1 to 65535");
    if (config.world_size == 0) config_error("--distributed-world-size: give 1 or more");
}

void check_options(Task task, const RunConfig& config) {
    check_batches(config.batch, config.given);
    check_weights(config);
    check_deterministic(config);
    if (task == Task::doctor && config.data.size() > 1)
        config_error("--data: the doctor looks at one data set; call it for each of them");
    check_device(config);
    check_memory(config);
    check_family(config);
    check_lora(config);
    check_alpha(config);
    check_clip(config);
    if (task == Task::ladder && config.train.tensor > 1)
        config_error("--tensor: the ladder's runs do not divide layers; leave it out");
    if (task == Task::ladder && config.train.pipeline > 1)
        config_error("--pipeline: the ladder's runs have no stages; leave it out");
    if (task == Task::train || task == Task::ladder) {
        check_train(config);
        check_budget(config);
        check_metric(task, config);
    }
    if (task == Task::evaluate || task == Task::display) check_evaluate(config);
    if (config.vocabulary > 0 && !config.data.empty())
        config_error("--vocabulary contradicts --data, whose dictionary tells it; leave one out");
    check_launch(config);
    if (talks(task)) check_talk(config);
    const bool replies =
        talks(task) || task == Task::display || (task == Task::evaluate && !config.skip_generation);
    if (replies) check_generation(config);
    check_unread(task, config);
    check_replies(config.generation);
    // A score is divided by a power of at most some thousand tokens, which must be a number.
    constexpr double largest_exponent = 20;
    if (std::abs(config.generation.beam_length_penalty) > largest_exponent)
        config_error("--beam-length-penalty: give at least -20 and at most 20");
    if (config.generation.min_p < 0 || config.generation.min_p > 1)
        config_error("--min-p: give at least 0 and at most 1");
    if (config.generation.topp <= 0 || config.generation.topp > 1) {
        config_error("--topp: give more than 0 and at most 1");
    }
}

}  // namespace lockstep::launcher
