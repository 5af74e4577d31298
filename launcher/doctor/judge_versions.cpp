// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "launcher/doctor/finding_text.hpp"
#include "launcher/doctor/findings.hpp"
#include "launcher/text/units.hpp"

namespace lockstep::launcher::doctor {

namespace {

// Compares a value that should be the same everywhere and reports the ranks that differ from rank
// 0.
template <class Value>
void compare(const Facts& facts, Grouped& found, const std::string& what, Value value,
             const std::string& advice) {
    for (const RankFacts& one : facts.ranks) {
        const std::string here = value(one), first = value(facts.ranks.front());
        if (here != first)
            found.add(one.rank,
                      what + " " + here + ", but rank " + std::to_string(facts.ranks.front().rank) +
                          " has " + first,
                      advice);
    }
}

std::string words(const std::vector<std::string>& instructions) {
    return instructions.empty() ? "none of AVX2 to AMX" : joined(instructions);
}

void compare_gpu_software(const Facts& facts, Grouped& breaks, Grouped& warns) {
    // judge_software() tells of hosts without a driver.
    const bool driven = std::ranges::none_of(
        facts.ranks, [](const RankFacts& one) { return one.gpu_host.driver.empty(); });
    if (driven)
        compare(
            facts, warns, "has the GPU driver", [](const auto& one) { return one.gpu_host.driver; },
            "use hosts with the same driver");
    // The run does without NCCL on all hosts when one host has none.
    const bool everywhere = std::ranges::none_of(
        facts.ranks, [](const RankFacts& one) { return one.libraries.nccl == "none"; });
    if (everywhere)
        compare(
            facts, facts.computes == Computes::on_gpu ? breaks : warns, "has NCCL",
            [](const auto& one) { return one.libraries.nccl; },
            "install the same NCCL on every host: it refuses to work with another version");
    compare(
        facts, warns, "has cuBLASLt",
        [](const auto& one) { return one.software.cublas_lt.version; },
        "install the same cuBLASLt on every host, else numbers differ in the last bits");
}

}  // namespace

std::vector<Finding> judge_versions(const Facts& facts) {
    Grouped breaks(facts, Severity::breaks, "versions"), warns(facts, Severity::warns, "versions");
    compare(
        facts, breaks, "runs Lockstep", [](const auto& one) { return one.libraries.lockstep; },
        "install the same version on every host");
    compare(
        facts, warns, "has the instructions",
        [](const auto& one) { return words(one.processor.instructions); },
        "use hosts that are alike: all compute in what the weakest can, and resuming is not bit "
        "for bit");
    compare(
        facts, warns, "multiplies by",
        // "oneDNN 2.6.3 avx2": the instructions are compared elsewhere
        [](const auto& one) {
            return one.libraries.products.substr(0, one.libraries.products.rfind(' '));
        },
        "install the same version on every host, else numbers differ in the last bits");
    if (!facts.ranks.empty() && facts.ranks.front().source == "mpi") {
        compare(
            facts, warns, "has the MPI", [](const auto& one) { return one.libraries.mpi; },
            "install the same MPI on every host, or load the same module");
    }
    compare_gpu_software(facts, breaks, warns);
    std::vector<Finding> found = breaks.findings();
    append(found, warns.findings());
    return found;
}

}  // namespace lockstep::launcher::doctor
