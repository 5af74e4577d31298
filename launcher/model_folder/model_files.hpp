// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lockstep::launcher {

// Looks at the names that programs open in a model folder, and changes nothing. Throws a config
// error that names the first one that is there and is no regular file, or "checkpoints" if that is
// no folder. Opening a pipe would wait for ever, and what is found at the start costs no work.
void require_regular_files(const std::string& folder);

// Throws a data error if a file of a model in the folder is a pointer that Git LFS left there.
void require_fetched_files(const std::string& folder);

// Tells whether a run, or its launcher, makes something of this name in a model folder.
bool is_of_a_run(const std::string& name);

// Throws a config error if `path`, which `option` names, is or would become a file that programs
// keep in the model folder, or lies among its checkpoints. An empty path is accepted.
void require_other_file(const std::string& option, const std::string& path,
                        const std::string& folder);

// Throws a config error that names the first file of a model in the folder that is a link to
// nowhere.
void refuse_broken_links(const std::string& folder);

// Returns what to do if a path that does not exist looks like a model's name on the Hugging Face
// Hub, as "Qwen/Qwen3-0.6B". Empty: it does not.
std::string hub_hint(const std::string& name);

// Returns a text such as "runs is a link to /mnt/runs, which does not exist" if the folder does not
// exist because of such a link on its path, and otherwise an empty one.
std::string broken_link(const std::string& folder);

}  // namespace lockstep::launcher
