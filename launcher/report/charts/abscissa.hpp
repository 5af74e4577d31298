// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lockstep::launcher::report {

// The curves are drawn over one of these quantities. Tokens are the trained label tokens. Minutes
// are the training time: the seconds of the train lines.
enum class Abscissa { steps, epochs, tokens, minutes };

// Returns the text below the axis.
const char* axis_title(Abscissa abscissa);
// Describes a range: "step 20", "steps 20 to 40", "epochs 0.5 to 1".
std::string stretch_text(Abscissa abscissa, double first, double last);

}  // namespace lockstep::launcher::report
