// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "launcher/options/tables.hpp"
#include "runtime/train/metrics/reply_metrics.hpp"

namespace lockstep::launcher {

namespace {

std::string pair_word(double first, double second) {
    return number_word(first) + "," + number_word(second);
}

std::string mode_word(const std::optional<train::Direction>& mode) {
    if (!mode) return "by the metric";
    return *mode == train::Direction::minimise ? "min" : "max";
}

void read_betas(const std::string& word, train::OptimizerOptions& o) {
    const auto comma = word.find(',');
    o.beta1 = parse_number("betas", word.substr(0, comma));
    if (comma != std::string::npos) o.beta2 = parse_number("betas", word.substr(comma + 1));
    const auto decays = [](double beta) { return beta >= 0 && beta < 1; };
    if (!decays(o.beta1) || !decays(train::beta2_of(o)))
        OptionTable::reject("betas", word, "two numbers in [0, 1)");
}

// The first value prevents the division of a row of zero gradients by 0, also when stored as a
// float.
void read_adafactor_eps(const std::string& word, train::OptimizerOptions& o) {
    const auto comma = word.find(',');
    if (comma == std::string::npos)
        OptionTable::reject("adafactor-eps", word, "two numbers, as 1e-30,1e-3");
    o.adafactor_eps1 = parse_number("adafactor-eps", word.substr(0, comma));
    o.adafactor_eps2 = parse_number("adafactor-eps", word.substr(comma + 1));
    const bool fits = o.adafactor_eps1 >= 1e-37 && o.adafactor_eps1 <= 1 && o.adafactor_eps2 >= 0 &&
                      o.adafactor_eps2 <= 1;
    if (!fits)
        OptionTable::reject("adafactor-eps", word, "two numbers, of 1e-37 to 1 and of 0 to 1");
}

std::vector<std::string> metrics() {
    std::vector<std::string> names{"ppl", "loss", "token_acc", "token_em"};
    for (const std::string& name : train::reply_metric_names()) names.push_back(name);
    return names;
}

std::string metric_words(const std::string& between) {
    std::string words;
    for (const std::string& name : metrics()) words += (words.empty() ? "" : between) + name;
    return words;
}

}  // namespace

namespace {

void add_adafactor(OptionTable& table, RunConfig& config) {
    train::OptimizerOptions& o = config.train.optimizer;
    table
        .add("adafactor-eps", Arity::one, "E1,E2",
             "of adafactor: added to the squared gradients; smallest root mean square of weights "
             "that scales the rate",
             pair_word(o.adafactor_eps1, o.adafactor_eps2),
             [&o](const auto& given) { read_adafactor_eps(given.front(), o); })
        .with(Trait::updates);
    table
        .flag("adafactor-scale-parameter", o.adafactor_scale_parameter,
              "adafactor's rate is times the root mean square of each matrix's or vector's "
              "weights (default: as --adafactor-relative-step)")
        .with(Trait::updates);
    table
        .flag("adafactor-relative-step", o.adafactor_relative_step,
              "adafactor's rate is min(0.01, 1 / sqrt(update)); --learningrate and schedules are "
              "refused")
        .with(Trait::updates);
}

void add_muon(OptionTable& table, RunConfig& config) {
    train::OptimizerOptions& o = config.train.optimizer;
    table
        .number_from_0("muon-learningrate,muon-lr", o.muon_learningrate,
                       "muon's highest rate, of the matrices of layers; --learningrate is that of "
                       "adamw, which updates the rest")
        .with(Trait::updates, Trait::decays);
    table.number_from_0("muon-momentum", o.muon_momentum, "of muon", 1).with(Trait::updates);
    table
        .choice<train::MuonScale>(
            "muon-adjust-lr", o.muon_scale,
            {{"original", train::MuonScale::original},
             {"match_rms_adamw", train::MuonScale::match_rms_adamw}},
            "muon's steps by a matrix's shape. original: sqrt(rows / columns) "
            "above 1; match_rms_adamw: 0.2 sqrt(the larger), for adamw's "
            "rates")
        .with(Trait::updates);
}

}  // namespace

OptionTable optimizer_table(RunConfig& config) {
    using train::OptimizerKind;
    train::OptimizerOptions& o = config.train.optimizer;
    OptionTable table("Optimizer");
    std::vector<std::pair<std::string, OptimizerKind>> kinds;
    for (int i = 0; i <= static_cast<int>(OptimizerKind::muon); ++i)
        kinds.emplace_back(name(OptimizerKind{i}), OptimizerKind{i});
    table.choice<OptimizerKind>("optimizer,opt", o.kind, kinds, "the rule of the update")
        .with(Trait::updates);
    table.number_from_0("learningrate,lr", o.learningrate, "highest learning rate")
        .with(Trait::updates, Trait::decays);
    table
        .add("betas,beta", Arity::one, "B1,B2",
             "decay of the moments (of lion: 0.9,0.99; of muon's adamw: 0.9,0.95)",
             pair_word(o.beta1, train::beta2_of(o)),
             [&o](const auto& given) { read_betas(given.front(), o); })
        .with(Trait::updates);
    table.number_from_0("adam-eps", o.adam_eps, "epsilon of adam, adamw and muon's adamw", 1)
        .with(Trait::updates);
    table.flag("amsgrad", o.amsgrad, "adam with the largest second moment (ParlAI's adam)")
        .with(Trait::updates);
    table.choice<train::Moments>("moments", o.moments,
                                 {{"fp32", train::Moments::fp32}, {"int8", train::Moments::int8}},
                                 "what adam and adamw keep their moments in. int8: 2.03 bytes a "
                                 "parameter instead of 8");
    table.number_from_0("momentum,mom", o.momentum, "of sgd", 1).with(Trait::updates);
    table.flag("nesterov", o.nesterov, "the momentum of sgd and muon is Nesterov's")
        .with(Trait::updates);
    table.number_from_0("weight-decay,wdecay", o.weight_decay, "not on biases and norms", 1000)
        .with(Trait::updates);
    add_adafactor(table, config);
    add_muon(table, config);
    table.choice<Fp16Kind>("fp16-impl", config.gpu.fp16,
                           {{"safe", Fp16Kind::safe}, {"mem_efficient", Fp16Kind::mem_efficient}},
                           "mem_efficient: fp16 without fp32 weights beside it");
    table.number("gradient-clip,clip", o.gradient_clip, "largest gradient norm (<= 0: none)")
        .with(Trait::updates);
    return table;
}

namespace {

void add_warmup(OptionTable& table, RunConfig& config) {
    train::ScheduleOptions& s = config.train.schedule;
    table.integer("warmup-updates", s.warmup_updates, "updates of linear warm-up (<= 0: none)")
        .with(Trait::updates)
        .in_place_of({"warmup-ratio"});
    table
        .add("warmup-ratio", Arity::one, "X",
             "linear warm-up as a share of the run's updates, rounded up (-1: as --warmup-updates "
             "says)",
             number_word(config.warmup_ratio),
             [&config](const auto& given) {
                 const double ratio = parse_number("warmup-ratio", given.front());
                 if (ratio != -1 && !(ratio >= 0 && ratio < 1))
                     OptionTable::reject("warmup-ratio", given.front(), "a number in [0, 1)");
                 config.warmup_ratio = ratio;
             })
        .with(Trait::updates)
        .in_place_of({"warmup-updates"});
    table
        .number_from_0("warmup-rate", s.warmup_rate,
                       "first learning rate, as a share of the highest", 1)
        .with(Trait::updates);
}

}  // namespace

OptionTable schedule_table(RunConfig& config) {
    using train::ScheduleKind;
    train::ScheduleOptions& s = config.train.schedule;
    OptionTable table("Learning rate schedule");
    std::vector<std::pair<std::string, ScheduleKind>> kinds;
    for (int i = 0; i <= static_cast<int>(ScheduleKind::reduceonplateau); ++i)
        kinds.emplace_back(name(ScheduleKind{i}), ScheduleKind{i});
    table
        .choice<ScheduleKind>("lr-scheduler", s.kind, kinds,
                              "how the learning rate falls; linear, cosine and wsd end with "
                              "--max-train-steps or else --num-epochs")
        .with(Trait::updates, Trait::decays);
    add_warmup(table, config);
    table
        .integer("invsqrt-lr-decay-gamma", s.invsqrt_lr_decay_gamma,
                 "gamma of invsqrt: sqrt(gamma / (gamma + updates since the warm-up)) "
                 "(-1: --warmup-updates)")
        .with(Trait::updates);
    table
        .number_from_0("decay-ratio", s.decay_ratio,
                       "wsd: share of the run's updates, the last ones, in which the rate falls")
        .with(Trait::updates);
    table
        .number_from_0("min-lr", s.min_learningrate,
                       "linear, cosine and wsd: the learning rate that they fall to")
        .with(Trait::updates);
    table
        .number_from_0("lr-scheduler-decay", s.lr_scheduler_decay,
                       "factor of fixed and reduceonplateau", 1)
        .with(Trait::updates);
    table
        .integer("lr-scheduler-patience", s.lr_scheduler_patience,
                 "fixed: validations between two decays; reduceonplateau: validations without a "
                 "better one that are borne",
                 0)
        .with(Trait::updates);
    return table;
}

namespace {

void add_trackers(OptionTable& table, Trackers& trackers) {
    table
        .flag("wandb-log,wblog", trackers.wandb,
              "send the metrics to Weights & Biases, by Python's package lockstep")
        .with(Trait::launch);
    table.flag("mlflow", trackers.mlflow, "send them to MLflow").with(Trait::launch);
    table.flag("comet", trackers.comet, "send them to Comet").with(Trait::launch);
}

}  // namespace

OptionTable length_table(RunConfig& config) {
    train::TrainOptions& t = config.train;
    OptionTable table("Length of the run");
    table.number("num-epochs,eps", t.limits.num_epochs, "epochs (-1: no limit)")
        .with(Trait::limit)
        .in_place_of({"max-train-steps", "max-train-time"});
    table
        .integer("max-train-steps,tstep,max-lr-steps", t.limits.max_train_steps,
                 "updates (-1: no limit)")
        .with(Trait::limit)
        .in_place_of({"num-epochs", "max-train-time"});
    table.number("max-train-time,ttim", t.limits.max_train_time_s, "seconds (-1: no limit)")
        .with(Trait::limit)
        .in_place_of({"num-epochs", "max-train-steps"});
    table.integer("log-every-n-steps,lstep", t.log_every_n_steps, "updates between log lines", 1);
    table.number("log-every-n-secs,ltim", t.log_every_n_secs,
                 "seconds between log lines (-1: off)");
    add_trackers(table, config.trackers);
    table.number(
        "save-every-n-secs,stim", t.save_every_n_secs,
        "seconds between checkpoints (-1: off); a stop (Ctrl-C, TERM) and the end save one, too");
    table.integer("save-every-n-steps", t.save_every_n_steps,
                  "updates between checkpoints (-1: off)");
    table.integer("keep", t.keep, "newest checkpoints that stay", 1);
    table.integer("keep-every-n-steps", t.keep_every_n_steps,
                  "checkpoints whose step is a multiple of this stay as well (-1: none)");
    table.integer("max-save-failures", t.max_save_failures,
                  "saves in a row that may fail (disk full, lost file server) before the run ends "
                  "(-1: any number)",
                  -1);
    table.flag("save-after-valid,sval", t.save_after_valid, "a checkpoint at every validation");
    table.flag("async-save", t.async_save,
               "checkpoints are written beside training, from a copy of weights and optimizer that "
               "rank 0 holds; false: training waits, and on the CPU there is no copy");
    return table;
}

namespace {

void add_metric(OptionTable& table, RunConfig& config) {
    train::ValidationOptions& v = config.train.validation;
    table
        .add("validation-metric,vmt", Arity::one, "[NAME/]METRIC",
             "what decides which model is best: " + metric_words(", ") +
                 "; of several data sets their average, or NAME's",
             v.metric,
             [&v](const auto& given) {
                 const std::string metric = given.front().substr(given.front().rfind('/') + 1);
                 const auto known = metrics();
                 if (std::find(known.begin(), known.end(), metric) == known.end())
                     OptionTable::reject("validation-metric", given.front(),
                                         "one of " + metric_words("|"));
                 v.metric = given.front();
             })
        .with(Trait::metric);
    table
        .flag("aggregate-micro,micro", config.aggregate_micro,
              "averages of several data sets' metrics by tokens and rows, not by sets")
        .with(Trait::metric);
    table
        .add("validation-metric-mode,vmm", Arity::one, "min|max", "better is smaller or larger",
             mode_word(v.mode),
             [&v](const auto& given) {
                 if (given.front() == "min") {
                     v.mode = train::Direction::minimise;
                 } else if (given.front() == "max") {
                     v.mode = train::Direction::maximise;
                 } else {
                     OptionTable::reject("validation-metric-mode", given.front(), "min or max");
                 }
             })
        .with(Trait::metric);
}

}  // namespace

OptionTable validation_table(RunConfig& config) {
    train::ValidationOptions& v = config.train.validation;
    OptionTable table("Validation");
    table.number("validation-every-n-epochs,veps", v.every_n_epochs,
                 "epochs between validations (-1: off)");
    table.integer("validation-every-n-steps,vstep", v.every_n_steps,
                  "updates between validations (-1: off)");
    table.number("validation-every-n-secs,vtim", v.every_n_secs,
                 "seconds between validations (-1: off)");
    table.integer("validation-max-exs,vme", v.max_examples, "rows of a validation (-1: all)")
        .with(Trait::metric);
    table
        .integer("validation-patience,vp", v.patience,
                 "validations without a better one before training ends (<= 0: no limit)")
        .with(Trait::limit);
    add_metric(table, config);
    table
        .add("validation-cutoff,vcut", Arity::one, "X", "training ends once the metric is as good",
             v.has_cutoff ? number_word(v.cutoff) : "",
             [&v](const auto& given) {
                 v.cutoff = parse_number("validation-cutoff", given.front());
                 v.has_cutoff = true;
             })
        .with(Trait::limit);
    return table;
}

OptionTable graphs_table(RunConfig& config) {
    OptionTable table("Graphs");
    table.choice<GraphChoice>(
        "cuda-graphs", config.gpu.graphs,
        {{"auto", GraphChoice::automatic}, {"on", GraphChoice::on}, {"off", GraphChoice::off}},
        "replay what a GPU does for batches of one shape. auto: of the first "
        "64 shapes; on: of all");
    return table;
}

OptionTable reducer_table(RunConfig& config) {
    train::ReducerOptions& r = config.train.reducer;
    OptionTable table("Gradient reduction");
    table.add("bucket-mb", Arity::one, "X", "size of a gradient bucket",
              number_word(static_cast<double>(r.bucket_bytes) / 0x1p20), [&r](const auto& given) {
                  const double mb = parse_number("bucket-mb", given.front());
                  if (mb < 0.001 || mb > 4096) {
                      OptionTable::reject("bucket-mb", given.front(), "in [0.001, 4096]");
                  }
                  r.bucket_bytes = static_cast<std::size_t>(mb * 0x1p20);
                  r.first_bucket_bytes = std::min(r.first_bucket_bytes, r.bucket_bytes);
              });
    table.flag("no-overlap", config.no_overlap, "reduce only when backward has ended");
    table.flag("deterministic", config.deterministic,
               "the same bits on any number of ranks: the lanes' gradients are added in a fixed "
               "order, and --threads is 1 unless it is given; on CPUs");
    table.choice<Dtype>("comm-dtype", r.comm_dtype, {{"fp32", Dtype::fp32}, {"bf16", Dtype::bf16}},
                        "type of the gradients on the wire");
    table
        .choice<GpuBackendChoice>("gpu-backend", config.gpu.backend,
                                  {{"auto", GpuBackendChoice::automatic},
                                   {"nccl", GpuBackendChoice::nccl},
                                   {"staged", GpuBackendChoice::staged}},
                                  "among GPUs. staged: by slow copies through the host and "
                                  "--backend; auto: NCCL, or staged "
                                  "where there is none or ranks share a GPU")
        .with(Trait::launch);
    table.integer("hash-every-n-updates", config.train.hash_every_n_updates,
                  "updates between comparisons of the ranks' parameters (<= 0: never)");
    return table;
}

}  // namespace lockstep::launcher
