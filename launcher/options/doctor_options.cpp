// SPDX-License-Identifier: Apache-2.0
#include "launcher/options/tables.hpp"

namespace lockstep::launcher {

OptionTable doctor_table(RunConfig& config) {
    OptionTable table("Doctor");
    table.flag("json", config.json, "print one JSON document instead of tables");
    table.flag("preflight", config.preflight,
               "print only what GPUs need of this host, as a table: driver, CUDA, libraries; exit "
               "code 1 where they cannot compute");
    table.seconds("data-seconds", config.data_seconds,
                  "that each rank reads its part of the data for");
    return table;
}

}  // namespace lockstep::launcher
