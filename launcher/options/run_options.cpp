// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "launcher/options/tables.hpp"
#include "runtime/comm/environment/rank_info.hpp"

namespace lockstep::launcher {

namespace {

constexpr std::uint64_t max_rows = INT32_MAX;
constexpr std::uint64_t max_lanes = 1 << 16;

constexpr const char* place = "it tells this rank its place";
constexpr const char* output = "it changes what this rank writes, not what it computes";

}  // namespace

OptionTable run_table(RunConfig& config) {
    OptionTable table("Run");
    table
        .texts("data", config.data, "DIR...",
               "what `lockstep prepare` wrote; several folders are used together")
        .with(Trait::paths, Trait::updates, Trait::model);
    table.text("model-file,mf", config.model_file, "DIR", "the model's folder")
        .with(Trait::paths, Trait::launch);
    table.integer("seed", config.train.seed,
                  "of initial weights, the rows' order, dropout and what replies draw", 0);
    table
        .integer("threads", config.threads, "of this rank (0: its share of the host's cores)", 0,
                 max_threads)
        .on_each_rank("hosts have different numbers of cores")
        .with(Trait::launch);
    table
        .text("trace", config.trace_file, "FILE",
              "write what the rank did when, for Perfetto; rank r > 0 writes FILE.rankR")
        .on_each_rank(output)
        .with(Trait::launch);
    table
        .text("log-file", config.log_file, "FILE",
              "also write what the rank prints there, each line with its time; rank r > 0 writes "
              "FILE.rankR")
        .on_each_rank(output)
        .with(Trait::launch);
    table.flag("verbose,v", config.verbose, "every rank speaks, and says more")
        .on_each_rank(output)
        .with(Trait::launch);
    table.flag("quiet", config.quiet, "errors only").on_each_rank(output).with(Trait::launch);
    return table;
}

OptionTable device_table(RunConfig& config) {
    OptionTable table("Device");
    table
        .choice<DeviceChoice>("device", config.device,
                              {{"auto", DeviceChoice::automatic},
                               {"cpu", DeviceChoice::cpu},
                               {"cuda", DeviceChoice::cuda}},
                              "auto: a GPU where one is visible")
        .on_each_rank("the ranks compare the GPUs that they see")
        .with(Trait::launch);
    table
        .choice<PrecisionChoice>("precision", config.precision,
                                 {{"auto", PrecisionChoice::automatic},
                                  {"fp32", PrecisionChoice::fp32},
                                  {"bf16", PrecisionChoice::bf16},
                                  {"fp16", PrecisionChoice::fp16}},
                                 "of the computation; weights are kept in fp32. auto: bf16 where "
                                 "the device multiplies it; fp16: on GPUs")
        .in_place_of({"fp16"})
        .with(Trait::model)
        .yielding_to({"fp16"});
    table.flag("fp16", config.fp16, "the same as --precision fp16").in_place_of({"precision"});
    table.flag("tf32", config.gpu.tf32, "products of fp32 by a GPU's tensor cores, with 10 bits");
    table.flag("autotune", config.gpu.autotune,
               "a GPU's products and attention's backward take what is measured to be the fastest");
    table
        .flag("allow-shared-gpu", config.gpu.allow_shared,
              "several processes of this run on one GPU")
        .with(Trait::launch);
    return table;
}

namespace {

void add_truncations(OptionTable& table, RunConfig& config) {
    BatchConfig& b = config.batch;
    table
        .integer("truncate,tr", b.truncate, "longest context and label (-1: --n-positions)",
                 INT64_MIN, max_positions)
        .with(Trait::updates)
        .in_place_of({"text-truncate", "label-truncate"});
    table
        .integer("text-truncate", b.text_truncate, "longest context (-1: --truncate)", INT64_MIN,
                 max_positions)
        .with(Trait::updates, Trait::model)
        .yielding_to({"truncate"});
    table
        .integer("label-truncate", b.label_truncate, "longest label with its end (-1: --truncate)",
                 INT64_MIN, max_positions)
        .with(Trait::updates, Trait::model)
        .yielding_to({"truncate"});
}

void add_lanes(OptionTable& table, RunConfig& config) {
    BatchConfig& b = config.batch;
    table.integer("update-freq", b.update_freq, "micro-batches per rank and update", 1, max_lanes)
        .with(Trait::updates);
    table.integer("num-workers", b.num_workers, "threads that build batches ahead", 0, max_threads)
        .on_each_rank("hosts have different numbers of cores; batches do not depend on it");
    table
        .integer("logical-shards", b.logical_shards,
                 "lanes of the run (-1: ranks x --update-freq at its first start)", INT64_MIN,
                 max_lanes)
        .with(Trait::launch);
}

}  // namespace

OptionTable batch_table(RunConfig& config) {
    using data::Dynamic;
    BatchConfig& b = config.batch;
    OptionTable table("Batches");
    table.integer("batchsize,bs", b.batchsize, "rows of a micro-batch, per rank", 1, max_rows)
        .with(Trait::updates);
    table
        .integer("eval-batchsize", b.eval_batchsize, "rows in evaluation (-1: as --batchsize)", -1,
                 max_rows)
        .with(Trait::model)
        .yielding_to({"batchsize"});
    table
        .choice<Dynamic>("dynamic-batching,dynb", b.dynamic,
                         {{"none", Dynamic::off},
                          {"off", Dynamic::off},
                          {"full", Dynamic::full},
                          {"batchsort", Dynamic::batchsort}},
                         "batchsort: rows of similar length together; full: also as many rows as "
                         "--batchsize longest rows have tokens")
        .with(Trait::updates)
        .in_place_of({"batch-tokens"});
    table
        .choice<std::string>(
            "eval-dynamic-batching", b.eval_dynamic,
            {{"none", ""}, {"off", "off"}, {"full", "full"}, {"batchsort", "batchsort"}},
            "in evaluation; none: as --dynamic-batching")
        .with(Trait::model)
        .yielding_to({"dynamic-batching", "batch-tokens"});
    table
        .integer("batch-tokens", b.batch_tokens,
                 "tokens of a micro-batch, source and target; implies -dynb full (-1: from "
                 "--batchsize)",
                 INT64_MIN, max_rows)
        .with(Trait::updates, Trait::model)
        .yielding_to({"batchsize", "eval-batchsize", "dynamic-batching", "eval-dynamic-batching"});
    add_truncations(table, config);
    add_lanes(table, config);
    return table;
}

OptionTable generation_table(RunConfig& config) {
    using model::Inference;
    model::GenerationOptions& g = config.generation;
    OptionTable table("Generation");
    table.choice<Inference>("inference", g.inference,
                            {{"greedy", Inference::greedy},
                             {"beam", Inference::beam},
                             {"topk", Inference::topk},
                             {"nucleus", Inference::nucleus}},
                            "how a reply is chosen");
    table.integer("beam-size", g.beam_size, "hypotheses; of topk and nucleus: samples", 1,
                  max_beam_size);
    table.integer("beam-min-length", g.beam_min_length,
                  "fewest tokens of a reply, of beam, topk and nucleus", 0);
    table.integer("beam-block-ngram", g.beam_block_ngram, "no n-gram twice in a reply (-1: off)");
    table.integer("beam-context-block-ngram", g.beam_context_block_ngram,
                  "no n-gram of the context in the reply (-1: off)");
    table.flag("beam-block-full-context", g.beam_block_full_context,
               "that context is the whole one, not what truncation leaves of it");
    table.number("beam-length-penalty", g.beam_length_penalty, "exponent of ((1 + length) / 6)");
    table.integer("topk", g.topk, "entries that topk draws from", 1);
    table.number("topp", g.topp, "probability mass that nucleus draws from");
    table.number("temperature", g.temperature, "divides the logits");
    table.number("min-p", g.min_p,
                 "topk and nucleus draw nothing less likely than this share of the likeliest (0: "
                 "off)");
    table.number("repetition-penalty", g.repetition_penalty,
                 "makes tokens less likely that were there before, above 1, or more, below (1: "
                 "off)");
    table
        .integer("max-length", g.max_length,
                 "longest reply, its end counted (-1: --label-truncate, else 256)", -1)
        .yielding_to({"label-truncate", "truncate"});
    table.with(Trait::model);
    return table;
}

namespace {

void add_meeting_place(OptionTable& table, RunConfig& config) {
    table.integer("rank", config.rank, "this rank, with --world-size, --master-addr, --master-port")
        .on_each_rank(place)
        .with(Trait::launch);
    table
        .integer("local-rank", config.local_rank,
                 "this rank's number on its host, as torch.distributed.launch hands it on (-1: as "
                 "the environment says)",
                 -1, comm::max_ranks)
        .on_each_rank(place)
        .with(Trait::launch);
    table.text("master-addr", config.master_addr, "HOST", "rank 0's host")
        .on_each_rank(place)
        .with(Trait::launch);
    table
        .integer("master-port,port", config.master_port,
                 "first port of rank 0's store (torchrun and distributed_launch "
                 "have a --master-port of their own, and the store begins at the next)")
        .on_each_rank(place)
        .with(Trait::launch);
}

}  // namespace

OptionTable place_table(RunConfig& config) {
    OptionTable table("Ranks");
    table
        .integer("distributed-world-size,world-size", config.world_size,
                 "number of ranks (multiprocessing programs: -1 is one per GPU, else one per core)",
                 std::numeric_limits<std::int64_t>::min(), comm::max_ranks)
        .on_each_rank("ranks with other numbers do not meet")
        .with(Trait::launch);
    table
        .integer("max-restarts", config.max_restarts,
                 "how often multiprocessing_train starts all ranks again, from the last "
                 "checkpoint, when one has failed",
                 0)
        .on_each_rank("it is read by what starts the ranks")
        .with(Trait::launch);
    add_meeting_place(table, config);
    table
        .choice<comm::Backend>("backend", config.comm.backend,
                               {{"auto", comm::Backend::automatic},
                                {"mpi", comm::Backend::mpi},
                                {"gloo", comm::Backend::gloo}},
                               "auto: MPI where MPI started the run, else Gloo")
        .on_each_rank("ranks with other ones do not meet")
        .with(Trait::launch);
    table
        .text("interface", config.comm.interface, "NAME",
              "network between hosts: of Gloo, of the watchdogs, of Open MPI's TCP")
        .on_each_rank("hosts name their networks differently")
        .with(Trait::launch);
    table
        .text(
            "secret-file", config.secret_file, "FILE",
            "its first line is the ranks' common secret; nobody else may read it. It comes before "
            "LOCKSTEP_SECRET; without both Munge, PMIx or this host's files hand one over")
        .on_each_rank("hosts may keep the same secret in different files")
        .with(Trait::launch);
    table.seconds("timeout", config.timeout_s, "seconds that a rank waits for another")
        .on_each_rank("each rank may have its own patience")
        .with(Trait::launch);
    return table;
}

}  // namespace lockstep::launcher
