// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lockstep::launcher {

// libgomp's threads spin while they wait, by default for so long that a busy machine stands still;
// it reads its limit when it is loaded, so the program starts once more with one. Does nothing
// where the environment already says how to wait. Call it first in main, with its argv.
void limit_spinning(char** argv);

}  // namespace lockstep::launcher
