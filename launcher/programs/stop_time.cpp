// SPDX-License-Identifier: Apache-2.0
#include "launcher/programs/stop_time.hpp"

#include <cmath>

#include "data/storage/dataset.hpp"
#include "launcher/model_folder/model_folder.hpp"
#include "launcher/text/units.hpp"
#include "model/blocks/layout.hpp"
#include "runtime/core/error.hpp"
#include "runtime/train/optim/state_bytes.hpp"

namespace lockstep::launcher {

std::string warning_of_slow_stop(double bytes, int warning_s) {
    // Half of the time is for the step that runs, the other ranks and a file server that is busy.
    constexpr double safety = 2;
    const double seconds = bytes / assumed_write_bytes_per_s;
    if (warning_s == 0 || safety * seconds <= warning_s) return "";
    const auto wanted_s = static_cast<std::int64_t>(std::ceil(safety * seconds / 60)) * 60;
    return "warning: a checkpoint of " + bytes_text(static_cast<std::int64_t>(bytes)) +
           " may take " + seconds_text(seconds) + " (at " + rate_text(assumed_write_bytes_per_s) +
           "; lockstep doctor measures it), and the ranks are told " + std::to_string(warning_s) +
           " s before the time limit: give --signal USR1@" + std::to_string(wanted_s);
}

double bytes_saved_at_stop(const RunConfig& config) {
    try {
        const auto dataset = data::Dataset::open(config.data.at(0));
        const auto model = agree_on_model({config.model_file}, config.model, config.given, dataset);
        const auto table = model::parameter_table(model);
        const auto optimizer = train::state_bytes(config.train.optimizer, table);
        const std::size_t best_too = 2 * table.flat_size() * sizeof(float);
        return static_cast<double>(best_too + optimizer);
    } catch (const std::exception&) {
        return 0;  // the job's own hosts may have what this one lacks
    }
}

}  // namespace lockstep::launcher
