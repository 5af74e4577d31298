// SPDX-License-Identifier: Apache-2.0
#include "launcher/doctor/finding_text.hpp"
#include "launcher/doctor/findings.hpp"

namespace lockstep::launcher::doctor {

std::vector<Finding> judge_shapes(const Facts& facts) {
    std::vector<Finding> found;
    if (facts.computes == Computes::on_cpu) return found;
    Grouped slow(facts, Severity::warns, "shapes");
    for (const RankFacts& one : facts.ranks)
        for (const model::SlowShape& shape : facts.slow_shapes)
            slow.add(one.rank, shape.what + ", which tensor cores are slow at", shape.better);
    append(found, slow.findings());
    return found;
}

}  // namespace lockstep::launcher::doctor
