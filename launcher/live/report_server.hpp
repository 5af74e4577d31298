// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/report/charts/abscissa.hpp"

namespace lockstep::launcher::live {

struct ReportServing {
    std::vector<std::string> folders;
    report::Abscissa abscissa = report::Abscissa::steps;
    std::string host;  // empty: every address of this host
    int port = 0;      // 0: a free one
};

// Serves the page of the runs until a signal (INT, TERM, or HUP if it is not ignored) ends it.
// Prints the address once the page can be asked for. Folders may come, go and be damaged meanwhile.
void serve_report(const ReportServing& serving);

}  // namespace lockstep::launcher::live
