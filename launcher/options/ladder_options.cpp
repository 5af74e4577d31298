// SPDX-License-Identifier: Apache-2.0
#include "launcher/options/tables.hpp"

namespace lockstep::launcher {

OptionTable ladder_table(RunConfig& config) {
    OptionTable table("Ladder");
    table.flag("json", config.json, "print one JSON document instead of text");
    return table;
}

}  // namespace lockstep::launcher
