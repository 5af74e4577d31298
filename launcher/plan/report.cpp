// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/report.hpp"

#include "launcher/text/text_table.hpp"
#include "launcher/text/units.hpp"
#include "model/config_json.hpp"
#include "model/pipeline_division.hpp"

namespace lockstep::launcher::plan {

namespace {

std::string percent(std::int64_t part, std::int64_t whole) {
    const double share = whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
    return digits(100 * share) + " %";
}

std::string title(const RunPlan& plan) {
    return std::string("lockstep plan: ") + model::name(plan.model.kind) + " of " +
           grouped(static_cast<std::int64_t>(plan.parameters)) + " parameters in " +
           train::name(plan.precision) + ", " + counted(plan.ranks, "rank", "ranks") + " on " +
           plan.device.name + "\n\n";
}

std::string memory_table(const RunPlan& plan) {
    TextTable table;
    table.add({plan.ranks > 1 ? "memory of each rank" : "memory", "", ""});
    const std::int64_t all = plan.total_bytes();
    for (const Part& part : plan.parts)
        table.add({part.name, bytes_text(part.bytes),
                   percent(part.bytes, all) + (part.known == Known::about ? ", about" : "")});
    table.add({"total", bytes_text(all), ""});
    table.add({"there is", bytes_text(plan.device.bytes), plan.device.limit});
    if (plan.device.free_bytes != unlimited)
        table.add({"free now", bytes_text(plan.device.free_bytes),
                   plan.fits_now() ? "fits" : "does not fit"});
    return table.text();
}

std::string levels_table(const RunPlan& plan) {
    TextTable table;
    table.add({"--recompute", "activations", "total", ""});
    for (const LevelMemory& level : plan.levels) {
        std::string told = level.total <= plan.device.bytes ? "fits" : "does not fit";
        if (level.plan == plan.recompute) told += ", planned here";
        table.add({model::name(level.plan), bytes_text(level.activations), bytes_text(level.total),
                   told});
    }
    return table.text();
}

// Returns an empty text if there is one rank, which shares nothing.
std::string stages_table(const RunPlan& plan) {
    if (plan.stages.empty()) return "";
    TextTable table;
    table.add({"--zero", "total", "sent in a step", ""});
    for (const StageMemory& stage : plan.stages) {
        std::string told = stage.total <= plan.device.bytes ? "fits" : "does not fit";
        if (stage.stage == plan.stage) told += ", planned here";
        table.add(
            {std::to_string(stage.stage), bytes_text(stage.total), bytes_text(stage.sent), told});
    }
    return table.text() + "\n";
}

std::string shape_text(const train::BatchShape& shape) {
    const std::string rows = counted(shape.sequences, "row", "rows") + " with ";
    if (shape.source_total == 0) return rows + counted(shape.target_total, "token", "tokens");
    return rows + grouped(shape.source_total) + " source and " + grouped(shape.target_total) +
           " target tokens";
}

std::string size_text(const BatchSize& size) {
    const std::string asked = " (" + grouped(size.asked) + " asked for)";
    if (size.fits == 0) return "not even 1 fits" + asked;
    const std::string fits = "up to " + std::to_string(size.fits) + " fits" + asked;
    return size.fits < size.max_tried ? fits : fits + "; more was not tried";
}

void add_epoch(const EpochFacts& facts, TextTable& table) {
    const bool whole = facts.planned_rows == facts.rows;
    table.add({"epoch", counted(facts.rows, "row", "rows") + " in " + (whole ? "" : "about ") +
                            counted(facts.steps, "step", "steps")});
    if (!whole) table.add({"", "its first " + grouped(facts.planned_rows) + " rows were planned:"});
    table.add({"", counted(facts.micro_batches, "micro-batch", "micro-batches") + " of " +
                       counted(facts.shapes, "shape", "shapes") + ", " +
                       percent(facts.filler, facts.tokens + facts.filler) + " filler in " +
                       grouped(facts.tokens + facts.filler) + " tokens"});
    table.add({"", "its largest: " + shape_text(facts.largest.shape) + ", " +
                       bytes_text(facts.largest.activations) + " of activations"});
    if (facts.truncated_rows > 0)
        table.add({"cut", counted(facts.truncated_rows, "row is", "rows are") +
                              " longer than --n-positions or --truncate let through (" +
                              percent(facts.truncated_rows, facts.planned_rows) + ")"});
}

std::string stages_text(const RunPlan& plan) {
    const model::LayerRange layers = model::layers_of(plan.model, plan.pipeline);
    const std::int64_t waits = plan.pipeline.stages - 1;
    return "of 0 to " + std::to_string(waits) + " number " + std::to_string(plan.pipeline.number) +
           " needs the most, with layers " + std::to_string(layers.first) + " to " +
           std::to_string(layers.end - 1) + "; it sends " + bytes_text(plan.sent.pipeline) +
           " to others in a step of such micro-batches, and a stage waits " +
           percent(waits, plan.lanes_of_rank + waits) + " of a step";
}

std::string facts_table(const RunPlan& plan) {
    TextTable table;
    table.add({"micro-batch", "the most memory: " + shape_text(plan.batch.shape)});
    table.add({plan.size.option, size_text(plan.size)});
    if (plan.epoch) add_epoch(*plan.epoch, table);
    for (const model::SlowShape& shape : plan.slow_shapes)
        table.add({"width", shape.what + ", which tensor cores are slow at: " + shape.better});
    if (plan.sent.tensor > 0)
        table.add({"tensor ranks", "each sends " + bytes_text(plan.sent.tensor) +
                                       " to the others in a step of such micro-batches"});
    if (!plan.pipeline.is_whole()) table.add({"stages", stages_text(plan)});
    if (plan.host_bytes > 0)
        table.add({"host", bytes_text(plan.host_bytes) +
                               " of the host's memory beside it for each rank, for checkpoints"});
    if (plan.pinned_bytes > 0)
        table.add(
            {"offload", bytes_text(plan.pinned_bytes) +
                            " more of the host's memory for each rank, pinned, for the optimizer"});
    if (plan.disk_bytes > 0)
        table.add({"offload", bytes_text(plan.disk_bytes) +
                                  " on the disk for each rank, for the optimizer, which a step "
                                  "reads and writes once"});
    return table.text();
}

// Says which size of batches to take, or what else if none fits.
std::string size_remedy(const RunPlan& plan) {
    if (plan.size.fits > 0)
        return "take " + plan.size.option + " " + std::to_string(plan.size.fits) +
               ", with --update-freq for as many rows an update";
    if (plan.evaluates_otherwise && plan.batch.activations == plan.evaluated)
        return "take a smaller --eval-batchsize, or shorter rows (--truncate): an evaluation takes "
               "more than training";
    return "not even one row would fit; take a smaller model, another --optimizer, shorter rows "
           "(--truncate) or a device with more memory";
}

std::string verdict(const RunPlan& plan) {
    const std::string sizes =
        bytes_text(plan.total_bytes()) + " of " + bytes_text(plan.device.bytes);
    const std::string but = plan.fits_now() ? ""
                                            : ", but only " + bytes_text(plan.device.free_bytes) +
                                                  " are free now: end other programs first";
    if (plan.fits() && plan.fitted)
        return "It fits: " + sizes + but + ". The fastest that does:\n  " + plan.command + "\n";
    if (plan.fits()) return "It fits: " + sizes + but + ".\n";
    if (plan.epoch_fits() && plan.size.fits > 0)
        return "It may not fit, " + sizes + ": the first epoch's batches would, the largest that " +
               "may come would not; " + plan.size.option + " " + std::to_string(plan.size.fits) +
               " is safe.\n";
    const std::string level = plan.fitting_level();
    std::string remedy = size_remedy(plan);
    if (plan.fitted)
        return "It does not fit, " + sizes + ". --fit auto tried " + plan.tried +
               ", and the least is " + bytes_text(plan.total_bytes()) +
               ", shown above. What is left: " + remedy + ".\n";
    if (!level.empty()) remedy = "take --recompute " + level + "; or " + remedy;
    const auto stage = std::ranges::find_if(
        plan.stages, [&](const StageMemory& one) { return one.total <= plan.device.bytes; });
    if (stage != plan.stages.end())
        remedy = "take --zero " + std::to_string(stage->stage) + "; or " + remedy;
    return "It does not fit, " + sizes +
           ". Add --fit auto, which looks for options with which the run fits. Without it: " +
           remedy + ".\n";
}

}  // namespace

std::string report_text(const RunPlan& plan) {
    return title(plan) + memory_table(plan) + "\n" + levels_table(plan) + "\n" +
           stages_table(plan) + facts_table(plan) + "\n" + verdict(plan);
}

}  // namespace lockstep::launcher::plan
