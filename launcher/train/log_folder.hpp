// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/options/run_config.hpp"

namespace lockstep::launcher {

// Call it before the log of a run is opened. Throws a config error if --log-file names a folder or
// a file of the model. Rank 0 makes the model's folder if the log lies in it.
void make_folder_of_log(const RunConfig& launch, int rank);

}  // namespace lockstep::launcher
