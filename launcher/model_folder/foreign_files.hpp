// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace lockstep::launcher {

// Throws a config error that names the files if `folder` holds no model and other things than what
// a run, its launcher or a batch job leaves there: logs, scripts, hidden files. Files that `words`,
// the words of the command, name may lie there, too. Such a folder is nobody's model folder yet,
// and a run would strew its files among somebody's.
void require_own_folder(const std::string& folder, const std::vector<std::string>& words);

}  // namespace lockstep::launcher
